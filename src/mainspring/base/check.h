// SPDX-License-Identifier: Apache-2.0
#pragma once

// Assertions that stay on in every build.
//
// A failed check is a bug in Mainspring, never a user's mistake: it prints one line that says what
// and where, and aborts. A standby takes over and running jobs go on; a scheduler that carried on
// with a state that it knows to be wrong could start a GPU twice.

namespace mainspring::base {

[[noreturn]] void check_failed(const char* expression, const char* message, const char* file,
                               int line);

}  // namespace mainspring::base

#define MAINSPRING_CHECK(condition, message)                                       \
  do {                                                                             \
    if (!(condition)) [[unlikely]] {                                               \
      ::mainspring::base::check_failed(#condition, (message), __FILE__, __LINE__); \
    }                                                                              \
  } while (false)
