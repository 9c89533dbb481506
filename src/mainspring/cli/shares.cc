// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/cli/recorded_run.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"
#include "mainspring/report/queue_tree.h"

namespace mainspring::cli {
namespace {

using base::Json;
using report::QueueAmounts;
using report::QueueLine;
using report::QueueTree;

constexpr int64_t kBarWidth = 24;

Json queue_json(const QueueLine& line) {
  Json resources = Json::array();
  for (const QueueAmounts& one : line.amounts) {
    Json row = Json::object();
    row.set("resource", one.resource);
    row.set("quota", one.quota);
    row.set("limit", one.limit);
    row.set("weight", one.weight);
    row.set("weight_milli", one.weight_milli);
    row.set("share", one.share);
    row.set("held", one.held);
    row.set("stopping", one.stopping);
    row.set("borrowed", one.borrowed);
    row.set("pending", one.pending);
    row.set("past_seconds", one.past_seconds);
    row.set("past_milli", one.past_milli);
    resources.push_back(std::move(row));
  }
  Json out = Json::object();
  out.set("queue", line.name);
  out.set("parent", line.parent);
  out.set("depth", line.depth);
  out.set("priority", line.priority);
  out.set("leaf", line.leaf);
  out.set("jobs_running", line.jobs_running);
  out.set("jobs_waiting", line.jobs_waiting);
  out.set("resources", std::move(resources));
  return out;
}

void print_json(RecordedRun& run, const QueueTree& tree) {
  Json capacity = Json::object();
  for (size_t i = 0; i < tree.resources.size(); ++i) {
    capacity.set(tree.resources[i], tree.capacity[i]);
  }
  Json queues = Json::array();
  for (const QueueLine& line : tree.queues) queues.push_back(queue_json(line));
  Json out = run.envelope("mainspring.shares/1");
  out.set("half_life_ms", run.state().queues().half_life().ms);
  out.set("capacity", std::move(capacity));
  out.set("queues", std::move(queues));
  fmt::print("{}\n", out.dump_pretty());
}

std::string amount_text(const std::string& resource, int64_t amount) {
  if (amount == model::kUnlimited) return "unlimited";
  if (resource == "memory") return config::format_amount(amount, config::AmountKind::kBytes);
  if (amount % 1000 == 0) return grouped(amount / 1000);
  return fmt::format("{}.{:03}", grouped(amount / 1000), amount % 1000);
}

// One sign for each 24th of the capacity: # held within the quota, + beyond it, . due but not held.
std::string bar(const QueueAmounts& one, int64_t capacity) {
  const auto signs = [capacity](int64_t amount) {
    if (capacity <= 0) return int64_t{0};
    const auto wide = static_cast<__int128>(std::clamp<int64_t>(amount, 0, capacity)) * kBarWidth;
    return static_cast<int64_t>((wide + capacity - 1) / capacity);
  };
  const int64_t owned = signs(one.held - one.borrowed);
  const int64_t held = std::max(signs(one.held), owned);
  const int64_t due = std::max(signs(one.share), held);
  const auto repeated = [](int64_t count, char sign) {
    return std::string(static_cast<size_t>(count), sign);
  };
  return "[" + repeated(owned, '#') + repeated(held - owned, '+') + repeated(due - held, '.') +
         repeated(kBarWidth - due, ' ') + "]";
}

// Past use, and its part of that of all its siblings.
std::string past_text(const std::string& resource, const QueueAmounts& one) {
  if (one.past_seconds == 0) return "0";
  const std::string amount = resource == "memory" ? grouped(one.past_seconds) + " MiB-s"
                                                  : hours_text(one.past_seconds) + " h";
  return fmt::format("{} ({}.{} %)", amount, one.past_milli / 10, one.past_milli % 10);
}

void print_resource(const QueueTree& tree, size_t column, bool past, bool wide) {
  const std::string& resource = tree.resources[column];
  const auto text = [&resource](int64_t amount) { return amount_text(resource, amount); };
  fmt::print("{}: {} in the cluster\n", toned(resource, Tone::kStrong),
             text(tree.capacity[column]));
  std::vector<std::string> head{"queue", "quota", "share", "held", "borrowed", "pending", ""};
  if (past) head.push_back("past use (of siblings')");
  if (wide) {
    head.insert(head.end(),
                {"priority", "limit", "weight", "weight now", "stopping", "running", "waiting"});
  }
  Table table(head);
  for (const QueueLine& line : tree.queues) {
    const QueueAmounts& one = line.amounts[column];
    std::vector<std::string> row{std::string(size_t{2} * line.depth, ' ') + line.name,
                                 text(one.quota),
                                 text(one.share),
                                 text(one.held),
                                 text(one.borrowed),
                                 text(one.pending),
                                 bar(one, tree.capacity[column])};
    if (past) row.push_back(past_text(resource, one));
    if (wide) {
      row.insert(row.end(),
                 {std::to_string(line.priority), text(one.limit), grouped(one.weight),
                  fmt::format("{}.{:03}", one.weight_milli / 1000, one.weight_milli % 1000),
                  text(one.stopping), grouped(line.jobs_running), grouped(line.jobs_waiting)});
    }
    table.add(std::move(row), one.borrowed > 0 ? Tone::kWarning : Tone::kPlain);
  }
  fmt::print("{}", table.text());
}

ExitCode run_shares(const RecordedFlags& flags) {
  const auto run = RecordedRun::read(flags);
  if (!run) return cli::report(run.error());
  model::ClusterState& state = (*run)->state();
  const QueueTree tree = report::queue_tree(state, (*run)->engine().shares(state), (*run)->at());
  if (flags.wants_json()) {
    print_json(**run, tree);
    return (*run)->verdict();
  }
  if (tree.queues.empty()) fmt::print("the run declares no queues: every job is due everything\n");
  for (size_t column = 0; column < tree.resources.size() && !tree.queues.empty(); ++column) {
    if (column > 0) fmt::print("\n");
    const bool past = state.queues().half_life().ms > 0;
    print_resource(tree, column, past, flags.wide());
  }
  return (*run)->verdict();
}

}  // namespace

void add_shares(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "shares", "Show the tree of queues of a recorded run: quota, share, use, what is borrowed");
  auto flags = std::make_shared<RecordedFlags>();
  add_recorded_flags(*command, *flags, "mainspring.shares/1");
  command->footer(
      "\nBars: # held within the quota, + held beyond it, . due but not held; the full width is\n"
      "all that the cluster has.\n\n"
      "Examples:\n"
      "  mainspring simulate scenarios/queues/reclaim-between-roots.yaml --record run.events\n"
      "  mainspring shares --run run.events --at 20m\n"
      "  mainspring shares --run run.events --at 20m --json");
  command->callback([&action, flags] { action = [flags] { return run_shares(*flags); }; });
}

}  // namespace mainspring::cli
