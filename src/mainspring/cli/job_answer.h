// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "mainspring/base/json.h"
#include "mainspring/cli/timed_run.h"
#include "mainspring/engine/explain.h"

// What is the matter with one job at the present of a run: for `explain` and the demo.

namespace mainspring::cli {

struct JobAnswer {
  std::string job;
  std::string phase;  // not_submitted, waiting, starting, running, finished, removed
  base::Instant at;
  engine::Explanation explanation;
};

// The job must be one of the scenario's. Remedies cost many trials.
JobAnswer answer_for(TimedRun& run, const std::string& job);

// mainspring.explain/1
base::Json answer_json(const JobAnswer& answer);
// Several lines for people; `width` columns at most where words allow.
std::string answer_text(const JobAnswer& answer, size_t width);

// The words, broken into lines that begin with `indent` blanks.
std::string wrapped(std::string_view words, size_t indent, size_t width);

}  // namespace mainspring::cli
