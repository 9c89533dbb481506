// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mainspring/base/json.h"
#include "mainspring/base/rng.h"
#include "mainspring/kube/http.h"

// Who of several replicas acts: the holder of a Lease (coordination.k8s.io/v1), as client-go's
// leader election (tools/leaderelection) has it, so that both can share one.
//
// Another holder's lease has ended when nobody renewed it for as long as it lasts, by the clock of
// this machine since it was last seen to change; the times inside it are for people. One's own ends
// earlier, counted from before the renewal was sent, so that a leader who cannot renew has stopped
// before anybody else begins. Nothing more is promised: two may overlap if a machine sleeps, and
// each write needs a precondition of its own.

namespace mainspring::kube {

struct LeaseOptions {
  std::string namespace_name;
  std::string name;
  std::string identity;  // of this process, unlike that of any other
  base::Duration lasts = base::seconds(15);
  base::Duration renew_within = base::seconds(10);
  base::Duration retry_every = base::seconds(2);
  uint64_t seed = 0;  // of jitter
};

class LeaseElection {
 public:
  // Both must outlive the election.
  LeaseElection(Transport& transport, const Clock& clock, LeaseOptions options);
  LeaseElection(const LeaseElection&) = delete;
  LeaseElection& operator=(const LeaseElection&) = delete;
  ~LeaseElection() { *alive_ = false; }

  // Does what is due; the first call begins.
  void tick(base::Instant now);
  // When `tick` is wanted next; `never` while a reply is awaited.
  [[nodiscard]] base::Instant next_deadline() const;

  // May this process act? Ask before each write.
  [[nodiscard]] bool leads(base::Instant now) const { return now < leads_until_; }
  // It may act until then, if nothing is renewed.
  [[nodiscard]] base::Instant leads_until() const { return leads_until_; }
  // How often this process became leader.
  [[nodiscard]] uint64_t terms() const { return terms_; }
  // Who holds the lease, as last seen; empty: nobody.
  [[nodiscard]] const std::string& holder() const { return holder_; }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

  // Gives the lease back and takes part no more: call it once what the leader began has ended. It
  // no longer leads from here on.
  void release();
  [[nodiscard]] bool released() const { return releasing_ && !pending_; }

 private:
  enum class Asking : uint8_t { kRead, kCreate, kUpdate, kRelease };

  void ask(Asking what);
  void hear(Asking what, base::Instant sent_at, const base::Result<HttpReply>& reply);
  void note(const std::string& body);
  void act_on_what_was_read();
  void won(base::Instant sent_at, const std::string& body);
  void again(base::Duration wait);
  [[nodiscard]] std::string target() const;
  [[nodiscard]] base::Json body(bool give_back, base::Instant now) const;

  Transport& transport_;
  const Clock& clock_;
  LeaseOptions options_;
  base::Rng rng_;

  std::optional<base::Json> lease_;  // as the server had it when last seen; nothing: to be read
  std::string holder_;
  std::string version_;
  base::Instant changed_at_;  // when it was last seen to change, by our clock
  base::Duration lasts_{0};   // what its holder says
  base::Instant leads_until_;
  base::Instant next_at_;
  uint64_t terms_ = 0;
  bool pending_ = false;
  bool releasing_ = false;
  bool release_sent_ = false;
  std::string last_error_;
  // Replies find out by it that the election is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace mainspring::kube
