// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace mainspring::base {

void check_failed(const char* expression, const char* message, const char* file, int line) {
  std::fprintf(stderr, "mainspring: internal error: %s (%s) at %s:%d\n", message, expression, file,
               line);
  std::abort();
}

}  // namespace mainspring::base
