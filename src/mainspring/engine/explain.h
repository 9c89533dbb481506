// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "mainspring/engine/remedy.h"
#include "mainspring/engine/remedy_search.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/model/verdict.h"

// Why a job does not start, for people: the verdict, a sentence, and what would help.

namespace mainspring::engine {

struct ExplainOptions {
  bool remedies = true;
  RemedyOptions search;
};

struct Explanation {
  model::Verdict verdict;
  std::string sentence;
  std::vector<Remedy> remedies;
};

// Asks the Placer, diagnoses a "no" and looks for remedies, on demand: remedies cost many
// placements in Trials. A job in back-off is explained by what it would meet if it were tried now.
// The state is the same afterwards, apart from names and shapes that it now knows. No Trial may be
// open.
Explanation explain(model::ClusterState& state, model::Placer& placer, model::JobIx job,
                    const ExplainOptions& options = {});

// The verdict in plain words, without remedies. O(nodes).
std::string sentence(const model::Verdict& verdict, const model::ClusterState& state,
                     model::JobIx job);

// What to do, in plain words: "It starts if …".
std::string sentence(const Remedy& remedy, const model::ClusterState& state, model::JobIx job);

}  // namespace mainspring::engine
