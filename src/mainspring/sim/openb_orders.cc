// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/openb_orders.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "mainspring/base/check.h"

namespace mainspring::sim {
namespace {

constexpr size_t kOrderLineBytesMax = 16 * 1024 * 1024;
constexpr uint32_t kSkippedRow = std::numeric_limits<uint32_t>::max();

// Row number in the file → position in the list.
template <class Row>
std::vector<uint32_t> positions_by_row(const OpenbRows<Row>& list) {
  const auto rows = static_cast<size_t>(list.tally.used() + list.tally.skipped());
  std::vector<uint32_t> positions(rows, kSkippedRow);
  for (uint32_t position = 0; position < list.rows.size(); ++position) {
    positions[list.rows[position].row] = position;
  }
  return positions;
}

// One line: a keyword, then whole numbers with one blank before each.
class OrderLine {
 public:
  OrderLine(const LineReader& lines, std::string_view text) : lines_(lines), text_(text) {}

  base::Status keyword(std::string_view word) {
    const bool found =
        text_.starts_with(word) && (text_.size() == word.size() || text_[word.size()] == ' ');
    if (!found) return fault(fmt::format("expected a line that starts with \"{}\"", word));
    at_ = word.size();
    return {};
  }

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  base::Result<uint64_t> number(uint64_t bound, std::string_view what) {
    if (at_end() || text_[at_] != ' ') return fault("expected one blank before a number");
    ++at_;
    uint64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, code] = std::from_chars(text_.data() + at_, end, value);
    if (code != std::errc() || value >= bound) return fault(what);
    at_ = static_cast<size_t>(stop - text_.data());
    return value;
  }

  base::Status whole_line(std::vector<uint32_t>& order, const std::vector<uint32_t>& positions) {
    const std::string what =
        fmt::format("expected a row number below {} of the list", positions.size());
    while (!at_end()) {
      const auto row = number(positions.size(), what);
      if (!row) return tl::unexpected(row.error());
      const uint32_t position = positions[*row];
      if (position != kSkippedRow) order.push_back(position);
    }
    return {};
  }

  [[nodiscard]] tl::unexpected<base::Error> fault(std::string_view what) const {
    return base::invalid(
        fmt::format("{}:{}:{}: {}", lines_.name(), lines_.line_number(), at_ + 1, what));
  }

 private:
  const LineReader& lines_;
  std::string_view text_;
  size_t at_ = 0;
};

base::Status read_line(LineReader& lines, std::string_view& text, std::string_view word) {
  const auto found = lines.next(text);
  if (!found) return tl::unexpected(found.error());
  if (*found) return {};
  return base::invalid(
      fmt::format("{}:{}:1: the file ends, expected a line that starts with \"{}\"", lines.name(),
                  lines.line_number() + 1, word));
}

base::Status read_positions(LineReader& lines, std::string_view word,
                            const std::vector<uint32_t>& positions, std::vector<uint32_t>& order) {
  std::string_view text;
  if (const auto found = read_line(lines, text, word); !found) return found;
  OrderLine line(lines, text);
  if (const auto begun = line.keyword(word); !begun) return begun;
  return line.whole_line(order, positions);
}

base::Result<OpenbOrder> read_order(LineReader& lines, std::string_view first_line,
                                    const std::vector<uint32_t>& node_positions,
                                    const std::vector<uint32_t>& pod_positions, size_t node_count) {
  OpenbOrder order;
  OrderLine line(lines, first_line);
  if (const auto begun = line.keyword("seed"); !begun) return tl::unexpected(begun.error());
  const auto seed = line.number(std::numeric_limits<uint64_t>::max(), "expected a seed");
  if (!seed) return tl::unexpected(seed.error());
  if (!line.at_end()) return line.fault("expected the end of the line after the seed");
  order.seed = *seed;

  const auto nodes_read = read_positions(lines, "nodes", node_positions, order.nodes);
  if (!nodes_read) return tl::unexpected(nodes_read.error());
  std::vector<uint32_t> sorted = order.nodes;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() != node_count || order.nodes.size() != node_count) {
    return base::invalid(fmt::format("{}:{}:1: expected every node once, found {} of {}",
                                     lines.name(), lines.line_number(), sorted.size(), node_count));
  }
  const auto pods_read = read_positions(lines, "pods", pod_positions, order.pods);
  if (!pods_read) return tl::unexpected(pods_read.error());
  return order;
}

}  // namespace

base::Result<std::vector<OpenbOrder>> read_openb_orders(LineReader lines,
                                                        const OpenbNodeList& nodes,
                                                        const OpenbPodList& pods) {
  const auto node_positions = positions_by_row(nodes);
  const auto pod_positions = positions_by_row(pods);
  std::vector<OpenbOrder> orders;
  while (true) {
    std::string_view text;
    const auto found = lines.next(text);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return orders;
    auto order = read_order(lines, text, node_positions, pod_positions, nodes.rows.size());
    if (!order) return tl::unexpected(order.error());
    orders.push_back(std::move(*order));
  }
}

base::Result<std::vector<OpenbOrder>> read_openb_orders(const std::string& path,
                                                        const OpenbNodeList& nodes,
                                                        const OpenbPodList& pods) {
  auto lines = LineReader::open(path, kOrderLineBytesMax);
  if (!lines) return tl::unexpected(lines.error());
  return read_openb_orders(std::move(*lines), nodes, pods);
}

OpenbOrder generate_openb_order(const std::vector<OpenbNode>& nodes,
                                const std::vector<OpenbPod>& pods, int64_t load_milli,
                                uint64_t seed, base::Rng& rng) {
  OpenbOrder order;
  order.seed = seed;
  order.nodes.resize(nodes.size());
  std::iota(order.nodes.begin(), order.nodes.end(), 0U);
  rng.shuffle(order.nodes);

  std::vector<uint32_t> by_name(pods.size());
  std::iota(by_name.begin(), by_name.end(), 0U);
  std::sort(by_name.begin(), by_name.end(), [&](uint32_t left, uint32_t right) {
    return std::tie(pods[left].name, left) < std::tie(pods[right].name, right);
  });
  order.pods = by_name;
  rng.shuffle(order.pods);

  int64_t capacity_milli = 0;
  for (const OpenbNode& node : nodes) capacity_milli += node.gpu_count * kMilliPerGpu;
  int64_t asked_milli = 0;
  for (const OpenbPod& pod : pods) asked_milli += pod.gpu_milli_total();
  // Both sides times 1000, so that the comparison is exact.
  const int64_t target = capacity_milli * load_milli;
  const bool grows =
      asked_milli * 1000 < target &&
      std::any_of(pods.begin(), pods.end(), [](const OpenbPod& pod) { return pod.gpu_count > 0; });

  while (asked_milli * 1000 > target && !order.pods.empty()) {
    const size_t out = rng.below(order.pods.size());
    asked_milli -= pods[order.pods[out]].gpu_milli_total();
    order.pods.erase(order.pods.begin() + static_cast<std::ptrdiff_t>(out));
  }
  while (grows) {
    const uint32_t next = by_name[rng.below(by_name.size())];
    if ((asked_milli + pods[next].gpu_milli) * 1000 > target) break;
    asked_milli += pods[next].gpu_milli_total();
    order.pods.push_back(next);
  }
  return order;
}

std::vector<OpenbPod> generate_distinct_pods(const std::vector<OpenbPod>& mix, size_t count,
                                             base::Rng& rng) {
  MAINSPRING_CHECK(!mix.empty(), "distinct pods are variations of the pods of a list");
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t, std::string>> seen;
  std::vector<OpenbPod> pods;
  pods.reserve(count);
  while (pods.size() < count) {
    OpenbPod pod = mix[rng.below(mix.size())];
    // Up to an eighth less or more, and always a few steps of room.
    const auto vary = [&](int64_t amount) {
      const int64_t reach = amount / 8 + 50;
      return std::max<int64_t>(1, amount + rng.between(-reach, reach));
    };
    pod.cpu_milli = vary(pod.cpu_milli);
    pod.memory_mib = vary(pod.memory_mib);
    if (pod.gpu_count == 1 && pod.gpu_milli < kMilliPerGpu) {
      pod.gpu_milli = std::min(vary(pod.gpu_milli), kMilliPerGpu - 1);
    }
    const bool fresh =
        seen.emplace(pod.cpu_milli, pod.memory_mib, pod.gpu_count, pod.gpu_milli, pod.gpu_spec)
            .second;
    if (!fresh) continue;
    pod.row = static_cast<uint32_t>(pods.size());
    pod.name = fmt::format("distinct-{:06}", pods.size());
    pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace mainspring::sim
