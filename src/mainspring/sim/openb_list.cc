// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/openb_list.h"

#include <filesystem>

#include <fmt/format.h>

namespace mainspring::sim {
namespace {

// The file as named or with ".gz"; the error of a file that is not there names the first.
std::string plain_or_gzip(const std::string& path) {
  std::error_code ignored;
  const std::string gzip = path + ".gz";
  return !std::filesystem::exists(path, ignored) && std::filesystem::exists(gzip, ignored) ? gzip
                                                                                           : path;
}

}  // namespace

RowTally OpenbList::skipped() const {
  RowTally tally = nodes.tally;
  tally.add(pods.tally);
  return tally;
}

OpenbOrder OpenbList::order_for_seed(uint64_t seed) const {
  for (const OpenbOrder& order : published_orders) {
    if (order.seed == seed) return order;
  }
  return generated_order(seed, kOpenbLoadMilli);
}

OpenbOrder OpenbList::generated_order(uint64_t seed, int64_t load_milli) const {
  base::Rng rng(seed);
  return generate_openb_order(nodes.rows, pods.rows, load_milli, seed, rng);
}

base::Result<OpenbList> load_openb_list(const std::string& traces_folder, const std::string& name) {
  const std::string folder = traces_folder + "/openb-fgd";
  OpenbList list;
  list.name = name;
  auto nodes = read_openb_nodes(plain_or_gzip(folder + "/openb_node_list_gpu_node.csv"));
  if (!nodes) return tl::unexpected(nodes.error());
  list.nodes = std::move(*nodes);
  auto pods = read_openb_pods(plain_or_gzip(fmt::format("{}/openb_pod_list_{}.csv", folder, name)));
  if (!pods) return tl::unexpected(pods.error());
  list.pods = std::move(*pods);

  const std::string orders_path = plain_or_gzip(fmt::format("{}/orders/{}.txt", folder, name));
  std::error_code ignored;
  if (!std::filesystem::exists(orders_path, ignored)) return list;
  auto orders = read_openb_orders(orders_path, list.nodes, list.pods);
  if (!orders) return tl::unexpected(orders.error());
  list.published_orders = std::move(*orders);
  return list;
}

}  // namespace mainspring::sim
