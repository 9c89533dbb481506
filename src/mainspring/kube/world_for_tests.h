// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mainspring/engine/cycle.h"
#include "mainspring/kube/job_book.h"
#include "mainspring/model/cluster_state.h"

// A book, a state and an engine, as the scheduler has them, fed by hand.

namespace mainspring::kube {

inline NodeObject gpu_node(const std::string& name, int64_t gpus) {
  NodeObject node;
  node.meta.name = name;
  node.ready = true;
  node.allocatable = {
      {"cpu", 64'000}, {"memory", int64_t{1} << 40}, {"pods", 110}, {"nvidia.com/gpu", gpus}};
  return node;
}

inline PodObject gpu_pod(const std::string& name, int64_t gpus) {
  PodObject pod;
  pod.meta.namespace_name = "team";
  pod.meta.name = name;
  pod.meta.uid = "0000" + name + "-0000-0000";
  pod.meta.created_at = base::Instant{1'700'000'000'000};
  pod.scheduler_name = "mainspring";
  pod.requests = {{"cpu", 1000}, {"nvidia.com/gpu", gpus}};
  return pod;
}

struct EventWords {
  std::string operator()(const model::NodeChanged& event) { return "node " + event.node.name; }
  std::string operator()(const model::NodeGone& event) { return "no node " + event.name; }
  std::string operator()(const model::JobChanged& event) {
    return "job " + event.job.id + " of " + std::to_string(event.job.pods.size());
  }
  std::string operator()(const model::JobGone& event) { return "no job " + event.job; }
  std::string operator()(const model::PodFound& event) { return "found " + event.pod; }
  std::string operator()(const model::PodBound& event) { return "bound " + event.pod; }
  std::string operator()(const model::PodStarted& event) { return "started " + event.pod; }
  std::string operator()(const model::PodStopping& event) { return "stopping " + event.pod; }
  std::string operator()(const model::BindRefused& event) { return "refused " + event.pod; }
  std::string operator()(const model::PodGone& event) {
    return (event.end == model::PodEnd::kSucceeded ? "done " : "gone ") + event.pod;
  }
  std::string operator()(const auto&) { return "other"; }
};

class TestWorld {
 public:
  TestWorld() : book({}) {}

  // What was told to the state, one word each.
  std::vector<std::string> flush() {
    std::vector<std::string> told;
    book.flush(state, now, [&](model::EventBody body) {
      told.push_back(word_of(body));
      now.ms += 1;
      const auto done = state.apply({++sequence, now, std::move(body)});
      if (!done) errors.push_back(done.error().message);
      state.check();
      return done;
    });
    return told;
  }
  void tell(model::EventBody body) {
    now.ms += 1;
    if (const auto done = state.apply({++sequence, now, std::move(body)}); !done) {
      errors.push_back(done.error().message);
    }
  }
  model::Plan cycle() { return engine.run_cycle(state, now); }
  // Flushes, decides, and takes every binding for done.
  std::vector<model::PodBinding> bind_all() {
    flush();
    std::vector<model::PodBinding> bound;
    for (const model::Decision& decision : cycle().decisions) {
      const auto* bind = std::get_if<model::Bind>(&decision);
      if (bind == nullptr) continue;
      bound.insert(bound.end(), bind->pods.begin(), bind->pods.end());
    }
    for (const model::PodBinding& pod : bound) tell(model::PodBound{pod.pod, pod.incarnation});
    return bound;
  }

  static std::string word_of(const model::EventBody& body) {
    return std::visit(EventWords{}, body);
  }

  JobBook book;
  model::ClusterState state;
  engine::Engine engine;
  base::Instant now{1'800'000'000'000};
  uint64_t sequence = 0;
  std::vector<std::string> errors;
};

}  // namespace mainspring::kube
