// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/allocation_bound.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "mainspring/placement/linear_program.h"
#include "mainspring/sim/allocation_curve.h"

namespace mainspring::sim {
namespace {

constexpr size_t kRoundsMax = 400;
constexpr double kGainPerDeviceMin = 1e-6;  // in GPUs; what is left is added to the bound

// Amounts in CPUs, GiB and GPUs, so that the coefficients are of one size.
constexpr double kCpuUnit = 1000.0;
constexpr double kMemoryUnit = 1024.0;
constexpr double kGpuUnit = 1000.0;

struct NodeKind {
  OpenbNode example;
  double count = 0;
};

struct PodKind {
  OpenbPod example;
  double arrived = 0;
};

bool allows(std::string_view spec, std::string_view model) {
  if (spec.empty()) return true;
  while (!spec.empty()) {
    const size_t bar = std::min(spec.find('|'), spec.size());
    if (spec.substr(0, bar) == model) return true;
    spec.remove_prefix(std::min(bar + 1, spec.size()));
  }
  return false;
}

bool fits_empty(const OpenbPod& pod, const OpenbNode& node) {
  return pod.cpu_milli <= node.cpu_milli && pod.memory_mib <= node.memory_mib &&
         pod.gpu_count <= node.gpu_count && allows(pod.gpu_spec, node.gpu_model);
}

std::vector<NodeKind> node_kinds(const std::vector<OpenbNode>& nodes) {
  std::map<std::tuple<int64_t, int64_t, int64_t, std::string>, NodeKind> kinds;
  for (const OpenbNode& node : nodes) {
    if (node.gpu_count == 0) continue;
    NodeKind& kind = kinds[{node.cpu_milli, node.memory_mib, node.gpu_count, node.gpu_model}];
    kind.example = node;
    ++kind.count;
  }
  std::vector<NodeKind> list;
  list.reserve(kinds.size());
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  return list;
}

// The GPU pods that have arrived at the curve's points at `percent`, each kind with its mean number
// over these points; empty if the curve has no such point.
std::vector<PodKind> mean_arrivals(const std::vector<OpenbPod>& pods, const OpenbOrder& order,
                                   int64_t capacity_milli, int percent) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, std::string_view>;
  std::vector<std::pair<uint32_t, double>> arrivals;  // pod, points before its own
  int64_t arrived_milli = 0;
  double points = 0;
  for (const uint32_t pod : order.pods) {
    arrived_milli += pods[pod].gpu_milli_total();
    const int64_t at = AllocationCurve::percent_arrived(arrived_milli, capacity_milli);
    if (at > percent) break;
    arrivals.emplace_back(pod, points);
    if (at == percent) points += 1;
  }
  if (points == 0) return {};
  std::map<Key, PodKind> kinds;
  for (const auto& [pod, points_before] : arrivals) {
    const OpenbPod& from = pods[pod];
    if (from.gpu_count == 0) continue;
    PodKind& kind =
        kinds[Key(from.cpu_milli, from.memory_mib, from.gpu_count, from.gpu_milli, from.gpu_spec)];
    if (kind.arrived == 0) kind.example = from;
    kind.arrived += 1.0 - points_before / points;
  }
  std::vector<PodKind> list;
  list.reserve(kinds.size());
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  return list;
}

// The relaxation: rows are the pod kinds, then CPU, memory and devices of each node kind.
class Relaxation {
 public:
  Relaxation(std::vector<NodeKind> node_kinds, std::vector<PodKind> pod_kinds)
      : node_kinds_(std::move(node_kinds)),
        pod_kinds_(std::move(pod_kinds)),
        program_(limits(), std::vector<double>(rows(), 0.0)) {
    add_whole_pods();
  }

  // In GPUs.
  double bound() {
    for (size_t round = 0; round < kRoundsMax; ++round) {
      const bool solved = program_.solve();
      bool improved = false;
      for (size_t kind = 0; kind < node_kinds_.size(); ++kind) {
        const Pattern pattern = best_pattern(kind);
        if (pattern.gain <= kGainPerDeviceMin) continue;
        add_pattern(kind, pattern);
        improved = true;
      }
      if (!improved || !solved) break;
    }
    return dual_value();
  }

 private:
  struct Pattern {
    double gain = 0;                // over the price of one device, in GPUs
    std::vector<size_t> pod_kinds;  // with repetition
  };

  [[nodiscard]] std::vector<double> limits() const {
    std::vector<double> limits;
    limits.reserve(rows());
    for (const PodKind& pod : pod_kinds_) limits.push_back(pod.arrived);
    for (const NodeKind& node : node_kinds_) {
      limits.push_back(node.count * static_cast<double>(node.example.cpu_milli) / kCpuUnit);
      limits.push_back(node.count * static_cast<double>(node.example.memory_mib) / kMemoryUnit);
      limits.push_back(node.count * static_cast<double>(node.example.gpu_count));
    }
    return limits;
  }

  [[nodiscard]] size_t rows() const { return pod_kinds_.size() + 3 * node_kinds_.size(); }
  [[nodiscard]] size_t row_of(size_t node_kind) const { return pod_kinds_.size() + 3 * node_kind; }

  [[nodiscard]] bool fits(size_t pod, size_t node) const {
    return fits_empty(pod_kinds_[pod].example, node_kinds_[node].example);
  }

  void add_whole_pods() {
    for (size_t node = 0; node < node_kinds_.size(); ++node) {
      for (size_t pod = 0; pod < pod_kinds_.size(); ++pod) {
        const OpenbPod& from = pod_kinds_[pod].example;
        if (from.gpu_milli < kMilliPerGpu || !fits(pod, node)) continue;
        const auto gpus = static_cast<double>(from.gpu_count);
        add_column({{pod, 1.0},
                    {row_of(node), cpu_of(pod)},
                    {row_of(node) + 1, memory_of(pod)},
                    {row_of(node) + 2, gpus}},
                   gpus);
      }
    }
  }

  void add_pattern(size_t node, const Pattern& pattern) {
    std::map<size_t, double> entries;
    double value = 0;
    for (const size_t pod : pattern.pod_kinds) {
      entries[pod] += 1.0;
      entries[row_of(node)] += cpu_of(pod);
      entries[row_of(node) + 1] += memory_of(pod);
      value += gpus_of(pod);
    }
    entries[row_of(node) + 2] += 1.0;
    add_column(entries, value);
  }

  void add_column(const std::map<size_t, double>& entries, double value) {
    std::vector<placement::LinearProgram::Entry> column;
    column.reserve(entries.size());
    for (const auto& [row, coefficient] : entries) {
      column.push_back({static_cast<uint32_t>(row), coefficient});
    }
    program_.add_column(column, value);
  }

  // What the pod is worth on this kind of node above what it takes, but for its devices.
  [[nodiscard]] double worth(size_t pod, size_t node) const {
    const auto prices = program_.prices();
    return gpus_of(pod) - price(prices[pod]) - price(prices[row_of(node)]) * cpu_of(pod) -
           price(prices[row_of(node) + 1]) * memory_of(pod);
  }

  // The most valuable filling of one device: an unbounded knapsack over the thousandths of a GPU.
  [[nodiscard]] Pattern best_pattern(size_t node) const {
    constexpr size_t kNone = ~size_t{0};
    std::array<double, kMilliPerGpu + 1> best_of_size{};
    std::array<size_t, kMilliPerGpu + 1> pod_of_size{};
    pod_of_size.fill(kNone);
    std::vector<size_t> sizes;
    for (size_t pod = 0; pod < pod_kinds_.size(); ++pod) {
      const auto size = static_cast<size_t>(pod_kinds_[pod].example.gpu_milli);
      if (size >= kMilliPerGpu || !fits(pod, node)) continue;
      const double value = worth(pod, node);
      if (value <= best_of_size[size]) continue;
      if (pod_of_size[size] == kNone) sizes.push_back(size);
      best_of_size[size] = value;
      pod_of_size[size] = pod;
    }
    std::array<double, kMilliPerGpu + 1> value{};
    std::array<size_t, kMilliPerGpu + 1> last{};
    for (size_t room = 1; room <= kMilliPerGpu; ++room) {
      value[room] = value[room - 1];
      for (const size_t size : sizes) {
        if (size > room || value[room - size] + best_of_size[size] <= value[room]) continue;
        value[room] = value[room - size] + best_of_size[size];
        last[room] = size;
      }
    }
    Pattern pattern{.gain = value[kMilliPerGpu] - price(program_.prices()[row_of(node) + 2])};
    for (size_t room = kMilliPerGpu; room > 0;) {
      if (last[room] == 0) {
        --room;
        continue;
      }
      pattern.pod_kinds.push_back(pod_of_size[last[room]]);
      room -= last[room];
    }
    return pattern;
  }

  // The prices' value of all limits, with the price of each kind's devices raised until no column
  // is worth more than it costs.
  [[nodiscard]] double dual_value() const {
    const std::vector<double> limit = limits();
    double value = 0;
    for (size_t row = 0; row < limit.size(); ++row)
      value += price(program_.prices()[row]) * limit[row];
    for (size_t node = 0; node < node_kinds_.size(); ++node) {
      double missing = std::max(best_pattern(node).gain, 0.0);
      for (size_t pod = 0; pod < pod_kinds_.size(); ++pod) {
        const OpenbPod& from = pod_kinds_[pod].example;
        if (from.gpu_milli < kMilliPerGpu || !fits(pod, node)) continue;
        const double gain = worth(pod, node) / static_cast<double>(from.gpu_count) -
                            price(program_.prices()[row_of(node) + 2]);
        missing = std::max(missing, gain);
      }
      value += missing * limit[row_of(node) + 2];
    }
    return value;
  }

  static double price(double computed) { return std::max(computed, 0.0); }
  [[nodiscard]] double cpu_of(size_t pod) const {
    return static_cast<double>(pod_kinds_[pod].example.cpu_milli) / kCpuUnit;
  }
  [[nodiscard]] double memory_of(size_t pod) const {
    return static_cast<double>(pod_kinds_[pod].example.memory_mib) / kMemoryUnit;
  }
  [[nodiscard]] double gpus_of(size_t pod) const {
    return static_cast<double>(pod_kinds_[pod].example.gpu_milli_total()) / kGpuUnit;
  }

  std::vector<NodeKind> node_kinds_;
  std::vector<PodKind> pod_kinds_;
  placement::LinearProgram program_;
};

}  // namespace

std::optional<double> allocation_bound(const std::vector<OpenbNode>& nodes,
                                       const std::vector<OpenbPod>& pods, const OpenbOrder& order,
                                       int percent) {
  int64_t capacity_milli = 0;
  for (const OpenbNode& node : nodes) capacity_milli += node.gpu_count * kMilliPerGpu;
  auto arrivals = mean_arrivals(pods, order, capacity_milli, percent);
  if (arrivals.empty()) return std::nullopt;
  Relaxation relaxation(node_kinds(nodes), std::move(arrivals));
  const double capacity = static_cast<double>(capacity_milli) / kGpuUnit;
  return 100.0 * relaxation.bound() / capacity;
}

}  // namespace mainspring::sim
