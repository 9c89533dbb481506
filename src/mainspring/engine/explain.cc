// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/explain.h"

#include "mainspring/placement/diagnose.h"
#include "mainspring/policy/admission.h"
#include "mainspring/policy/queue_shares.h"

namespace mainspring::engine {

Explanation explain(model::ClusterState& state, model::Placer& placer, model::JobIx job,
                    const ExplainOptions& options) {
  Explanation out;
  policy::QueueShares shares;
  shares.refresh(state, state.now());
  out.verdict = policy::admit(state, shares, job);
  if (out.verdict.kind != model::VerdictKind::kNow) {
    out.sentence = sentence(out.verdict, state, job);
    return out;
  }
  {
    model::Trial trial(state);
    out.verdict = placer.place(
        trial, {.job = job, .when = {state.now(), base::Instant::never()}, .grow = false});
  }
  out.verdict = placement::diagnose(state, placer, job, out.verdict);
  out.sentence = sentence(out.verdict, state, job);
  if (out.verdict.kind == model::VerdictKind::kNow || !options.remedies) return out;
  out.remedies = RemedySearch(state, placer, job, out.verdict, options.search).find();
  for (Remedy& remedy : out.remedies) remedy.sentence = sentence(remedy, state, job);
  return out;
}

}  // namespace mainspring::engine
