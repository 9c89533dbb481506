// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/base/result.h"

// How the program ends; documented in docs/reference/cli.md.

namespace mainspring::cli {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,       // ran, but an expectation, a budget or an invariant failed
  kBadInput = 2,     // a flag, a scenario or a trace is wrong; nothing was run or written
  kEnvironment = 3,  // a file could not be written, or something else outside failed
};

// One line on standard error, and the code that goes with the error.
ExitCode report(const base::Error& error);

}  // namespace mainspring::cli
