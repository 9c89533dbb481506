// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

// How failures of the environment travel: as values.
//
// Three kinds are never mixed: a bug is a MAINSPRING_CHECK, a domain "no" is a model::Verdict, and
// what the outside world did wrong (a malformed file, a refused call) is an Error inside a Result.

namespace mainspring::base {

enum class ErrorCode {
  kInvalidInput,  // the input is wrong; trying again does not help
  kNotFound,
  kUnavailable,  // the environment may recover
  kConflict,     // somebody else changed the thing first
};

// `message` says what is wrong, where, and what was expected, in one line without a final full
// stop.
struct Error {
  ErrorCode code = ErrorCode::kInvalidInput;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

inline tl::unexpected<Error> failure(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

inline tl::unexpected<Error> invalid(std::string message) {
  return failure(ErrorCode::kInvalidInput, std::move(message));
}

// The same error with the place in front: `in_context("jobs.csv:3:7", e)` reads "jobs.csv:3:7: …".
inline tl::unexpected<Error> in_context(std::string_view where, const Error& error) {
  return failure(error.code, std::string(where) + ": " + error.message);
}

}  // namespace mainspring::base
