// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/remedy_search.h"

#include <algorithm>

#include "mainspring/engine/what_if.h"

namespace mainspring::engine {

using model::JobIx;
using model::Verdict;
using model::VerdictKind;

RemedySearch::RemedySearch(model::ClusterState& state, model::Placer& placer, JobIx job,
                           const Verdict& verdict, const RemedyOptions& options)
    : state_(state),
      placer_(placer),
      job_(job),
      verdict_(verdict),
      options_(options),
      classes_(placement::pod_classes(state, state.job(job))),
      trials_left_(options.trials_max) {
  // Only what is there is counted; whether rules let a remedy work, its Trial tells.
  const model::RuleView no_rules;
  for (const placement::PodClass& pods : classes_) {
    surveys_.push_back(placement::survey(inventory(), pods, {no_rules}, true));
  }
}

std::vector<Remedy> RemedySearch::find() {
  more_on_node();
  add_nodes();
  new_node();
  // What holds a place is bound by what it asked for.
  const bool all_wait = std::ranges::all_of(job().pods, [this](model::PodIx pod) {
    return state_.pod(pod).phase == model::PodPhase::kPending;
  });
  if (all_wait) {
    lower_request();
    lower_minimum();
    widen_level();
    drop_selectors();
    drop_gpu_wishes();
    tolerate_taints();
  }
  make_available();
  repair_gpu();
  wait_for();
  return std::move(found_);
}

bool RemedySearch::starts(const Remedy& remedy) {
  if (trials_left_ == 0) return false;
  --trials_left_;
  model::Trial trial(state_);
  const JobIx job = apply(trial, job_, remedy);
  const model::PlaceRequest request{
      .job = job, .when = {state_.now(), base::Instant::never()}, .grow = false};
  return placer_.place(trial, request).kind == VerdictKind::kNow;
}

bool RemedySearch::offer(const Remedy& remedy) {
  if (!starts(remedy)) return false;
  for (const Remedy& weak : weaker(remedy)) {
    if (starts(weak)) return false;
  }
  if (trials_left_ == 0) return false;
  found_.push_back(remedy);
  return true;
}

int64_t RemedySearch::least(int64_t low, int64_t high, const Attempt& attempt) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (starts(attempt(middle))) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return high;
}

int64_t RemedySearch::most(int64_t low, int64_t high, const Attempt& attempt) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (starts(attempt(middle))) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

void RemedySearch::drop_needless_targets(Remedy& remedy) {
  for (size_t i = 0; i < remedy.targets.size() && remedy.targets.size() > 1;) {
    Remedy without = remedy;
    without.targets.erase(without.targets.begin() + static_cast<std::ptrdiff_t>(i));
    if (starts(without)) {
      remedy = std::move(without);
    } else {
      ++i;
    }
  }
}

void RemedySearch::shrink(Remedy& remedy) {
  for (size_t i = 0; i < remedy.changes.size();) {
    Remedy without = remedy;
    without.changes.erase(without.changes.begin() + static_cast<std::ptrdiff_t>(i));
    if (starts(without)) {
      remedy = std::move(without);
      continue;
    }
    remedy.changes[i].amount = least(0, remedy.changes[i].amount, [&](int64_t amount) {
      Remedy attempt = remedy;
      attempt.changes[i].amount = amount;
      return attempt;
    });
    ++i;
  }
}

}  // namespace mainspring::engine
