// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/lease.h"

#include <algorithm>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/kube/time_text.h"

namespace mainspring::kube {
namespace {

using base::Json;

std::string text_member(const Json* object, std::string_view key) {
  const Json* found = object == nullptr ? nullptr : object->find(key);
  return found != nullptr && found->is(Json::Kind::kString) ? found->as_string() : std::string();
}

int64_t int_member(const Json* object, std::string_view key) {
  const Json* found = object == nullptr ? nullptr : object->find(key);
  return found != nullptr && found->is(Json::Kind::kInt) ? found->as_int() : 0;
}

}  // namespace

LeaseElection::LeaseElection(Transport& transport, const Clock& clock, LeaseOptions options)
    : transport_(transport), clock_(clock), options_(std::move(options)), rng_(options_.seed) {
  MAINSPRING_CHECK(options_.lasts > options_.renew_within,
                   "a lease ends before it must be renewed");
  MAINSPRING_CHECK(options_.renew_within.ms * 5 > options_.retry_every.ms * 6,
                   "a lease is renewed too rarely");
  MAINSPRING_CHECK(!options_.identity.empty(), "a lease needs a holder");
}

base::Instant LeaseElection::next_deadline() const {
  return pending_ || releasing_ ? base::Instant::never() : next_at_;
}

void LeaseElection::tick(base::Instant now) {
  if (pending_ || releasing_ || now < next_at_) return;
  if (lease_ && holder_ == options_.identity) {
    ask(Asking::kUpdate);  // no need to look first
  } else {
    ask(Asking::kRead);
  }
}

void LeaseElection::release() {
  if (releasing_) return;
  releasing_ = true;
  const bool held = lease_ && holder_ == options_.identity;
  leads_until_ = base::Instant{};
  // A reply that is still awaited brings the version with which the lease can be given back.
  if (!pending_ && held) ask(Asking::kRelease);
}

std::string LeaseElection::target() const {
  return "/apis/coordination.k8s.io/v1/namespaces/" + options_.namespace_name + "/leases";
}

// What is there beside the election (labels, owners) is left as it is.
Json LeaseElection::body(bool give_back, base::Instant now) const {
  const Json* old_spec = lease_ ? lease_->find("spec") : nullptr;
  const bool same_holder = holder_ == options_.identity;
  int64_t transitions = int_member(old_spec, "leaseTransitions");
  if (lease_ && !same_holder) ++transitions;
  std::string acquired = text_member(old_spec, "acquireTime");
  if (!same_holder || acquired.empty()) acquired = micro_time_text(now);
  Json spec = Json::object();
  spec.append("holderIdentity", give_back ? std::string() : options_.identity);
  spec.append("leaseDurationSeconds", give_back ? int64_t{1} : options_.lasts.ms / 1000);
  spec.append("acquireTime", std::move(acquired));
  spec.append("renewTime", micro_time_text(now));
  spec.append("leaseTransitions", transitions);
  Json lease = Json::object();
  if (lease_) {
    lease = *lease_;
  } else {
    Json meta = Json::object();
    meta.append("name", options_.name);
    meta.append("namespace", options_.namespace_name);
    lease.append("apiVersion", "coordination.k8s.io/v1");
    lease.append("kind", "Lease");
    lease.append("metadata", std::move(meta));
  }
  lease.set("spec", std::move(spec));
  return lease;
}

void LeaseElection::ask(Asking what) {
  const base::Instant now = clock_.now();
  HttpRequest request;
  request.timeout = base::Duration{options_.renew_within.ms / 2};
  request.target = target();
  if (what == Asking::kCreate) {
    request.method = "POST";
  } else {
    request.target += "/" + options_.name;
    if (what != Asking::kRead) request.method = "PUT";
  }
  if (what != Asking::kRead) request.body = body(what == Asking::kRelease, now).dump();
  if (what == Asking::kRelease) release_sent_ = true;
  pending_ = true;
  transport_.send(std::move(request),
                  [this, what, now, alive = alive_](const base::Result<HttpReply>& reply) {
                    if (*alive) hear(what, now, reply);
                  });
}

void LeaseElection::again(base::Duration wait) {
  // Those who wait do not all come at once.
  const int64_t jitter = leads(clock_.now()) ? 0 : rng_.between(0, wait.ms / 5);
  next_at_ = clock_.now() + base::Duration{wait.ms + jitter};
}

void LeaseElection::hear(Asking what, base::Instant sent_at, const base::Result<HttpReply>& reply) {
  pending_ = false;
  if (what == Asking::kRelease) return;
  const int status = reply ? reply->status : 0;
  if (what == Asking::kRead && status == 200) {
    note(reply->body);
    act_on_what_was_read();
  } else if (what == Asking::kRead && status == 404) {
    lease_.reset();
    holder_.clear();
    if (!releasing_) ask(Asking::kCreate);
  } else if (what != Asking::kRead && reply && reply->ok()) {
    won(sent_at, reply->body);
  } else {
    last_error_ = reply ? "the server answers " + std::to_string(status) : reply.error().message;
    // Somebody else may have been there: look before the next try.
    lease_.reset();
    again(options_.retry_every);
  }
  if (releasing_ && !pending_ && !release_sent_ && lease_ && holder_ == options_.identity) {
    ask(Asking::kRelease);
  }
}

void LeaseElection::note(const std::string& text) {
  auto lease = base::parse_json(text, {.bytes_max = size_t{1} << 20});
  if (!lease || !lease->is(Json::Kind::kObject)) {
    last_error_ = "the server sends a lease that is none";
    lease_.reset();
    return;
  }
  const Json* spec = lease->find("spec");
  holder_ = text_member(spec, "holderIdentity");
  lasts_ = base::seconds(std::clamp<int64_t>(int_member(spec, "leaseDurationSeconds"), 0, 86'400));
  const std::string version = text_member(lease->find("metadata"), "resourceVersion");
  if (version != version_ || changed_at_ == base::Instant{}) changed_at_ = clock_.now();
  version_ = version;
  lease_ = std::move(*lease);
}

void LeaseElection::act_on_what_was_read() {
  if (holder_ != options_.identity) leads_until_ = base::Instant{};
  const bool free =
      holder_.empty() || holder_ == options_.identity || clock_.now() >= changed_at_ + lasts_;
  if (lease_ && free && !releasing_) {
    ask(Asking::kUpdate);
  } else {
    again(options_.retry_every);
  }
}

void LeaseElection::won(base::Instant sent_at, const std::string& text) {
  const bool led = leads(clock_.now());
  note(text);
  if (!releasing_ && holder_ == options_.identity) {
    leads_until_ = sent_at + options_.renew_within;
    if (!led && leads(clock_.now())) ++terms_;
  }
  again(options_.retry_every);
}

}  // namespace mainspring::kube
