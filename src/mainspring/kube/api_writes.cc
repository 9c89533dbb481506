// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/api_writes.h"

#include <utility>

#include "mainspring/base/json.h"
#include "mainspring/kube/time_text.h"

namespace mainspring::kube {
namespace {

using base::Json;

constexpr size_t kMessageLengthMax = 500;

std::string pod_target(const ObjectRef& pod, std::string_view sub) {
  return "/api/v1/namespaces/" + pod.namespace_name + "/pods/" + pod.name + "/" + std::string(sub);
}

Json metadata(const ObjectRef& object) {
  Json meta = Json::object();
  meta.append("name", object.name);
  meta.append("namespace", object.namespace_name);
  meta.append("uid", object.uid);
  return meta;
}

// The server's Status object, as far as it can be read.
struct StatusWords {
  std::string message;
  std::string reason;
  bool budget = false;
};

StatusWords words_of(const std::string& body) {
  StatusWords words;
  const auto status = base::parse_json(body, {.bytes_max = size_t{1} << 20, .depth_max = 16});
  if (!status) {
    words.message = body.substr(0, kMessageLengthMax);
    return words;
  }
  const auto text = [](const Json* value) {
    return value != nullptr && value->is(Json::Kind::kString) ? value->as_string() : std::string{};
  };
  words.message = text(status->find("message")).substr(0, kMessageLengthMax);
  words.reason = text(status->find("reason"));
  const Json* details = status->find("details");
  const Json* causes = details == nullptr ? nullptr : details->find("causes");
  if (causes == nullptr || !causes->is(Json::Kind::kArray)) return words;
  for (const Json& cause : causes->as_array()) {
    if (text(cause.find("reason")) == "DisruptionBudget") words.budget = true;
  }
  return words;
}

}  // namespace

std::string_view to_string(WriteOutcome outcome) {
  switch (outcome) {
    case WriteOutcome::kDone:
      return "done";
    case WriteOutcome::kGone:
      return "gone";
    case WriteOutcome::kConflict:
      return "conflict";
    case WriteOutcome::kRefused:
      return "refused";
    case WriteOutcome::kBlocked:
      return "blocked";
    case WriteOutcome::kThrottled:
      return "throttled";
    case WriteOutcome::kUnknown:
      return "unknown";
  }
  return "unknown";
}

WriteReply reply_of(const base::Result<HttpReply>& reply) {
  if (!reply) return {.outcome = WriteOutcome::kUnknown, .message = reply.error().message};
  if (reply->ok()) return {.outcome = WriteOutcome::kDone};
  const StatusWords words = words_of(reply->body);
  WriteReply result{.message = words.message, .retry_after = reply->retry_after};
  switch (reply->status) {
    case 404:
      result.outcome = WriteOutcome::kGone;
      break;
    case 409:
      result.outcome = WriteOutcome::kConflict;
      break;
    case 429:
      result.outcome = WriteOutcome::kThrottled;
      break;
    default:
      result.outcome = reply->status >= 500 ? WriteOutcome::kUnknown : WriteOutcome::kRefused;
  }
  return result;
}

WriteReply eviction_reply_of(const base::Result<HttpReply>& reply) {
  WriteReply result = reply_of(reply);
  if (!reply || reply->ok()) return result;
  const bool budget = words_of(reply->body).budget;
  // More than one budget over a pod is answered with 500, and will be each time.
  const bool several =
      reply->status == 500 &&
      result.message.find("more than one PodDisruptionBudget") != std::string::npos;
  if ((reply->status == 429 && budget) || several) result.outcome = WriteOutcome::kBlocked;
  return result;
}

HttpRequest bind_request(const ObjectRef& pod, std::string_view node,
                         const std::vector<std::pair<std::string, std::string>>& annotations) {
  Json meta = metadata(pod);
  if (!annotations.empty()) {
    Json notes = Json::object();
    for (const auto& [key, value] : annotations) notes.append(key, value);
    meta.append("annotations", std::move(notes));
  }
  Json target = Json::object();
  target.append("apiVersion", "v1");
  target.append("kind", "Node");
  target.append("name", node);
  Json body = Json::object();
  body.append("apiVersion", "v1");
  body.append("kind", "Binding");
  body.append("metadata", std::move(meta));
  body.append("target", std::move(target));
  return {.method = "POST",
          .target = pod_target(pod, "binding"),
          .content_type = "application/json",
          .body = body.dump()};
}

HttpRequest evict_request(const ObjectRef& pod, bool dry_run) {
  Json preconditions = Json::object();
  preconditions.append("uid", pod.uid);
  Json options = Json::object();
  options.append("preconditions", std::move(preconditions));
  if (dry_run) {
    Json all = Json::array();
    all.push_back("All");
    options.append("dryRun", std::move(all));
  }
  Json meta = Json::object();
  meta.append("name", pod.name);
  meta.append("namespace", pod.namespace_name);
  Json body = Json::object();
  body.append("apiVersion", "policy/v1");
  body.append("kind", "Eviction");
  body.append("metadata", std::move(meta));
  body.append("deleteOptions", std::move(options));
  return {.method = "POST",
          .target = pod_target(pod, dry_run ? "eviction?dryRun=All" : "eviction"),
          .content_type = "application/json",
          .body = body.dump()};
}

HttpRequest unschedulable_request(const ObjectRef& pod, std::string_view reason,
                                  std::string_view message, base::Instant now) {
  Json condition = Json::object();
  condition.append("type", "PodScheduled");
  condition.append("status", "False");
  condition.append("reason", reason);
  condition.append("message", message);
  condition.append("lastTransitionTime", time_text(now));
  Json conditions = Json::array();
  conditions.push_back(std::move(condition));
  Json status = Json::object();
  status.append("conditions", std::move(conditions));
  Json meta = Json::object();
  meta.append("uid", pod.uid);
  Json body = Json::object();
  body.append("metadata", std::move(meta));
  body.append("status", std::move(status));
  return {.method = "PATCH",
          .target = pod_target(pod, "status"),
          .content_type = "application/strategic-merge-patch+json",
          .body = body.dump()};
}

}  // namespace mainspring::kube
