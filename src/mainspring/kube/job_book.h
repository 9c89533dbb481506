// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/kube/objects.h"
#include "mainspring/kube/pod_wishes.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/event.h"

// Jobs out of pods: which pods belong together, and what has to be told to the state so that it
// agrees with the API server.
//
// A pod belongs to the PodGroup that it names; or to the group of its annotation; or to its batch
// Job; or is a job by itself. Pods of other schedulers are jobs too, once they have a node: they
// hold what they hold.
//
// Objects may arrive in any order and any number of times. What was taken in is compared with the
// state when `flush` is called, and only the differences become events, jobs before pods, in an
// order that depends on names alone.

namespace mainspring::kube {

// Why pods wait that the core does not know of; nothing: they do not any more.
struct Notice {
  std::string pod;  // the model's id
  std::optional<Obstacle> obstacle;
};

class JobBook {
 public:
  explicit JobBook(Naming naming) : naming_(std::move(naming)) {}

  void node_seen(NodeObject node);
  void node_gone(const std::string& name);
  void pod_seen(PodObject pod);
  void pod_gone(const PodObject& pod);
  void batch_job_seen(BatchJobObject job);
  void batch_job_gone(const BatchJobObject& job);
  void pod_group_seen(PodGroupObject group);
  void pod_group_gone(const PodGroupObject& group);

  // Hands over every event that makes the state agree with what was taken in. `apply` changes the
  // state at once; what it refuses becomes a notice. O(what was touched since the last call).
  using Apply = std::function<base::Status(model::EventBody)>;
  void flush(const model::ClusterState& state, base::Instant now, const Apply& apply);

  // There is something to flush.
  [[nodiscard]] bool dirty() const {
    return !dirty_nodes_.empty() || !dirty_jobs_.empty() || !dirty_pods_.empty();
  }
  // When an empty group is given up; never if there is none.
  [[nodiscard]] base::Instant next_deadline() const;

  // The latest word on each pod of which there is news.
  std::vector<Notice> take_notices();

  // The object behind a pod of the model, or nullptr.
  [[nodiscard]] const PodObject* find(std::string_view pod_id) const;
  // Pods of the model's job that have no node yet, in order.
  [[nodiscard]] std::vector<const PodObject*> waiting_pods(std::string_view job_id) const;
  [[nodiscard]] size_t pod_count() const { return pods_.size(); }
  [[nodiscard]] const Naming& naming() const { return naming_; }

  // "namespace/pod/name@1a2b3c4d": the first digits of the UID tell lives of one name apart.
  static std::string id_of(const PodObject& pod);

 private:
  enum class Kind : uint8_t { kSingle, kNamed, kBatch, kPodGroup };

  struct PodEntry {
    PodObject object;
    std::string job;                       // whose member it is
    std::optional<model::PodShape> shape;  // nothing: it cannot be planned, see `obstacle`
    std::optional<Obstacle> obstacle;
    bool listed = false;   // the state was told of it
    bool deleted = false;  // the object is gone; kept because its work was done
  };
  struct JobEntry {
    Kind kind = Kind::kSingle;
    bool foreign = false;
    std::string namespace_name;
    std::string name;               // of the group, batch Job or pod
    std::set<std::string> members;  // ids of pods
    bool told = false;              // the state knows it
    base::Instant submitted_at = base::Instant::never();
    base::Instant empty_since = base::Instant::never();
    std::optional<Obstacle> obstacle;  // as last noticed
  };

  void enter(PodObject pod, const std::string& id);
  void leave(const std::string& id);
  void touch_job(const std::string& id) { dirty_jobs_.insert(id); }
  [[nodiscard]] std::string job_of(const PodObject& pod, JobEntry& fresh) const;
  [[nodiscard]] bool is_listed(const PodEntry& entry) const;

  void flush_node(const std::string& name, const Apply& apply);
  void flush_job(const std::string& id, const model::ClusterState& state, base::Instant now,
                 const Apply& apply);
  void flush_pod(const std::string& id, const model::ClusterState& state, base::Instant now,
                 const Apply& apply);
  [[nodiscard]] bool is_over(const std::string& id, const JobEntry& job) const;
  void end_job(const std::string& id, const model::ClusterState& state, const Apply& apply);
  void settle_empty(const std::string& id, const model::ClusterState& state, base::Instant now,
                    const Apply& apply);
  void recount_short(const model::ClusterState& state, base::Instant now, const Apply& apply);
  void reshape(PodEntry& entry, const model::ClusterState& state);
  tl::expected<model::JobSpec, Obstacle> assemble(const std::string& id, const JobEntry& job) const;
  base::Status add_root(const JobEntry& job, const JobWishes& wishes, model::JobSpec& spec) const;
  [[nodiscard]] uint32_t size_of(const std::string& id) const;
  void note(JobEntry& job, std::optional<Obstacle> obstacle);

  Naming naming_;
  std::map<std::string, NodeObject> nodes_;
  std::map<std::string, model::NodeSpec> told_nodes_;
  std::map<std::string, PodEntry> pods_;
  std::map<std::string, JobEntry> jobs_;
  std::map<std::string, BatchJobObject> batch_jobs_;       // by namespace/name
  std::map<std::string, PodGroupObject> pod_groups_;       // by namespace/name
  std::map<std::string, std::set<std::string>> homeless_;  // by node: pods whose node is not known
  std::set<std::string> dirty_nodes_;
  std::set<std::string> dirty_jobs_;
  std::set<std::string> dirty_pods_;
  std::set<std::string> empty_jobs_;
  std::map<std::string, std::optional<Obstacle>> notices_;  // by pod
  std::map<std::string, std::set<std::string>> short_;      // by node: pods that ask for more GPUs
  std::set<std::string> roomier_nodes_;                     // of these: somebody left
};

}  // namespace mainspring::kube
