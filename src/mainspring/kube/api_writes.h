// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/kube/http.h"

// What Mainspring writes to the API server, as requests; and what the replies mean. Each write says
// what must still hold (the UID of the object), so that one that comes late does no harm.

namespace mainspring::kube {

// Which object, in which life.
struct ObjectRef {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string api_version = "v1";
  std::string kind = "Pod";
  friend auto operator<=>(const ObjectRef&, const ObjectRef&) = default;
};

enum class WriteOutcome : uint8_t {
  kDone,
  kGone,       // the object is not there any more, or is another one under that name
  kConflict,   // somebody else changed it first
  kRefused,    // the server does not want it, and will not the next time either
  kBlocked,    // a disruption budget forbids it for now
  kThrottled,  // too many requests: again after a while
  kUnknown,    // no reply, or one that does not tell whether it was done: look, or try again
};
std::string_view to_string(WriteOutcome outcome);

struct WriteReply {
  WriteOutcome outcome = WriteOutcome::kUnknown;
  std::string message;  // the server's own words, shortened
  std::optional<base::Duration> retry_after;
};

// Of any write but an eviction, whose 429 is a budget's word.
WriteReply reply_of(const base::Result<HttpReply>& reply);
WriteReply eviction_reply_of(const base::Result<HttpReply>& reply);

// Binds the pod to the node; `annotations` are laid onto the pod in the same step. Bound already:
// kConflict.
HttpRequest bind_request(const ObjectRef& pod, std::string_view node,
                         const std::vector<std::pair<std::string, std::string>>& annotations);

// Asks the pod to stop. `dry_run`: only whether budgets allow it.
HttpRequest evict_request(const ObjectRef& pod, bool dry_run);

// status.conditions: PodScheduled = False, for people and autoscalers to read.
HttpRequest unschedulable_request(const ObjectRef& pod, std::string_view reason,
                                  std::string_view message, base::Instant now);

}  // namespace mainspring::kube
