// SPDX-License-Identifier: Apache-2.0
// Judging displacements and promises.
#include <algorithm>
#include <map>

#include "mainspring/sim/checker.h"
#include "mainspring/sim/gang_tree.h"
#include "mainspring/sim/ledger_queues.h"

namespace mainspring::sim {
namespace {

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

bool same_place(const model::PodBinding& one, const model::PodBinding& other) {
  return one.pod == other.pod && one.node == other.node && sorted(one.gpus) == sorted(other.gpus);
}

bool device_suits(const model::GpuRequest& wanted, const LedgerDevice& device) {
  const bool model = wanted.models.empty() ||
                     std::ranges::find(wanted.models, device.spec.model) != wanted.models.end();
  return device.present && device.spec.healthy && model &&
         device.spec.resource == wanted.resource &&
         device.spec.memory_bytes >= wanted.device_memory_bytes_min;
}

// What a node would hold without those that stop, and with all that is promised there.
struct Load {
  model::Resources used;
  std::map<std::string, DeviceShare> devices;
  std::map<std::string, int64_t> holders;

  void add(LedgerNode& node, const model::PodShape& shape, const std::vector<std::string>& gpus) {
    used += shape.request;
    for (const std::string& id : gpus) {
      const LedgerDevice* device = Ledger::find_device(node, id);
      if (device == nullptr) continue;
      const DeviceShare share = device_share(shape.gpu, device->spec.memory_bytes);
      DeviceShare& sum = devices[id];
      sum.milli += share.milli;
      sum.memory_bytes += share.memory_bytes;
      sum.whole = sum.whole || share.whole;
      ++holders[id];
    }
  }

  // Whether that is possible, of the devices that are promised.
  [[nodiscard]] bool fits(LedgerNode& node, const std::set<std::string>& promised) const {
    if (!used.within(node.spec.allocatable)) return false;
    return std::ranges::all_of(promised, [&](const std::string& id) {
      const auto found = devices.find(id);
      if (found == devices.end()) return false;
      const DeviceShare& sum = found->second;
      const LedgerDevice* device = Ledger::find_device(node, id);
      if (sum.whole) return holders.at(id) == 1 && device->foreign_memory_bytes == 0;
      return sum.milli <= model::kWholeGpuMilli &&
             sum.memory_bytes + device->foreign_memory_bytes <= device->spec.memory_bytes;
    });
  }
};

}  // namespace

void Checker::judge_displace(const model::Displace& displace, base::Instant now) {
  const LedgerJob* winner = ledger_.find_job(displace.job);
  if (winner == nullptr || winner->removed) {
    report(Rule::kUnknownName, now,
           "A displacement is for the job " + displace.job + ", which is not there.");
    return;
  }
  if (!winner->spec.may_displace) {
    report(Rule::kWrongRight, now,
           "Others were displaced for job " + displace.job + ", which forbids it.");
  }
  // Who was displaced just now may displace others in turn, while its own pods stop.
  const bool turned = !winner->displaced_at.empty() && winner->displaced_at.back() == now;
  if (now < winner->retry_at || (winner->releasing && !turned)) {
    report(Rule::kBackoffIgnored, now,
           "Others were displaced for job " + displace.job + ", which waits until " +
               std::to_string(winner->retry_at.ms) + " ms or goes.");
  }
  if (displace.victims.empty() != (displace.rule == model::DisplaceRule::kHold)) {
    report(Rule::kWrongPromise, now,
           "Places were promised to job " + displace.job +
               (displace.victims.empty() ? ", and nobody stops for it."
                                         : " that others leave anyway, but some stop for it."));
  }
  const bool beyond_quota = is_beyond_quota(ledger_, winner->spec);
  for (const model::Victim& victim : displace.victims) {
    const LedgerJob* job = ledger_.find_job(victim.job);
    if (job == nullptr) {
      report(Rule::kUnknownName, now,
             "A displacement names the job " + victim.job + ", which is not there.");
      continue;
    }
    judge_right(*winner, victim, *job, beyond_quota, now);
    judge_victim(displace, victim, now);
  }
  judge_promised(displace, now);
  judge_room(displace, now);
  judge_queues(*winner, now);
}

void Checker::judge_right(const LedgerJob& winner, const model::Victim& victim,
                          const LedgerJob& job, bool beyond_quota, base::Instant now) {
  // Without a tree every name is the same queue.
  const bool one_queue = ledger_.queues().empty() || winner.spec.queue == job.spec.queue;
  if (victim.rule == model::DisplaceRule::kPreempt &&
      (!one_queue || job.spec.priority >= winner.spec.priority)) {
    report(Rule::kWrongRight, now,
           "Job " + victim.job + " was preempted for job " + winner.spec.id +
               ", which is of another queue or of no higher priority.");
  }
  if (victim.rule == model::DisplaceRule::kReclaim && one_queue) {
    report(Rule::kWrongRight, now,
           "Job " + victim.job + " was reclaimed for job " + winner.spec.id +
               ", which is of the same queue.");
  }
  if (!beyond_quota || victim.rule == model::DisplaceRule::kConsolidate) return;
  const model::CoreConfig& config = ledger_.config();
  const auto recent = std::ranges::count_if(
      job.displaced_at, [&](base::Instant at) { return at + config.displacements_window > now; });
  if (recent < config.displacements_max) return;
  report(Rule::kDisplacedTooOften, now,
         "Job " + victim.job + " was displaced once more, after " + std::to_string(recent) +
             " times, by job " + winner.spec.id + ", which is beyond its quota.");
}

void Checker::judge_victim(const model::Displace& displace, const model::Victim& victim,
                           base::Instant now) {
  LedgerJob& job = *ledger_.find_job(victim.job);
  const std::string told = "Job " + victim.job + " was displaced for job " + displace.job;
  if (victim.job == displace.job) report(Rule::kWrongVictim, now, told + ", which it is itself.");
  if (!job.spec.preemptible) {
    report(Rule::kWrongVictim, now, told + ", although it cannot be displaced.");
  }
  if (job.releasing) report(Rule::kWrongVictim, now, told + ", although it stops already.");
  for (const model::PodRelease& released : victim.pods) {
    LedgerPod* pod = ledger_.find_pod(released.pod);
    if (pod == nullptr || pod->job != victim.job || !pod->holds() ||
        pod->incarnation != released.incarnation || pod->phase == LedgerPhase::kStopping) {
      report(Rule::kWrongVictim, now,
             told + " with the pod " + released.pod +
                 ", which holds nothing in that life or stops already.");
      continue;
    }
    ledger_.displace(*pod);
  }
  job.displaced_at.push_back(now);
  const auto holds_on = [&](const model::PodSpec& spec) {
    const LedgerPod* pod = ledger_.find_pod(spec.id);
    return pod != nullptr && pod->holds() && pod->phase != LedgerPhase::kStopping;
  };
  if (victim.whole) {
    job.releasing = job.holding > 0;
    if (std::ranges::any_of(job.spec.pods, holds_on)) {
      report(Rule::kWrongVictim, now, told + " as a whole, but keeps some of its pods.");
    }
  } else if (!tree_minimum_met(job.spec, ledger_.counting(job, false))) {
    report(Rule::kWrongVictim, now, told + " in part, and is below its minimum now.");
  }
  if (victim.rule != model::DisplaceRule::kConsolidate) return;
  std::vector<uint8_t> placed = ledger_.counting(job, false);
  for (const model::PodBinding& place : displace.promised) {
    const LedgerPod* pod = ledger_.find_pod(place.pod);
    if (pod != nullptr && pod->job == victim.job) placed[pod->position] = 1;
  }
  if (!tree_minimum_met(job.spec, placed)) {
    report(Rule::kWrongPromise, now, told + ", which moves it, and has no new place.");
  }
}

void Checker::judge_promised(const model::Displace& displace, base::Instant now) {
  LedgerJob& winner = *ledger_.find_job(displace.job);
  if (!winner.promises.empty()) {
    report(Rule::kWrongPromise, now, "Job " + displace.job + " was promised places twice.");
  }
  const bool given = std::ranges::any_of(displace.promised, [&](const model::PodBinding& place) {
    const LedgerPod* pod = ledger_.find_pod(place.pod);
    return pod == nullptr || pod->job == displace.job;
  });
  if (!given) report(Rule::kWrongPromise, now, "Job " + displace.job + " was promised nothing.");
  std::vector<uint8_t> counts = ledger_.counting(winner, false);
  for (const model::PodBinding& place : displace.promised) {
    LedgerPod* pod = ledger_.find_pod(place.pod);
    LedgerNode* node = ledger_.find_node(place.node);
    const std::string told = "Pod " + place.pod + " was promised a place on node " + place.node;
    if (pod == nullptr || node == nullptr || pod->withdrawn) {
      report(Rule::kUnknownName, now, told + "; one of them is not there.");
      continue;
    }
    const bool moves = std::ranges::any_of(displace.victims, [&](const model::Victim& victim) {
      return victim.rule == model::DisplaceRule::kConsolidate && victim.job == pod->job;
    });
    const bool waits = pod->phase == LedgerPhase::kPending && pod->incarnation == place.incarnation;
    const bool stops = pod->phase == LedgerPhase::kStopping;
    const bool wins = pod->job == displace.job && (waits || (winner.releasing && stops));
    const bool expected = wins || (moves && (waits || stops));
    if (!expected) {
      report(Rule::kWrongPromise, now, told + ", which it does not wait for.");
      continue;
    }
    const std::set<std::string> distinct(place.gpus.begin(), place.gpus.end());
    const bool suits = std::ranges::all_of(distinct, [&](const std::string& id) {
      const LedgerDevice* device = Ledger::find_device(*node, id);
      return device != nullptr && device_suits(pod->shape.gpu, *device);
    });
    if (!node->listed || !node->spec.ready || !node->spec.schedulable ||
        !node_admits(node->spec, pod->shape) || !suits || distinct.size() != place.gpus.size() ||
        distinct.size() != pod->shape.gpu.count) {
      report(Rule::kWrongPromise, now, told + ", which does not suit it.");
    }
    LedgerJob& job = *ledger_.find_job(pod->job);
    ledger_.promise(job, place, displace.until);
    promised_jobs_.insert(pod->job);
    if (pod->job == displace.job) counts[pod->position] = 1;
  }
  if (given && !tree_minimum_met(winner.spec, counts)) {
    report(Rule::kWrongPromise, now,
           "Job " + displace.job + " was promised so little that it stays below its minimum.");
  }
}

// Once those that stop are gone, everything that is promised fits.
void Checker::judge_room(const model::Displace& displace, base::Instant now) {
  std::map<std::string, Load> loads;
  std::map<std::string, std::set<std::string>> promised;
  for (const model::PodBinding& place : displace.promised) {
    if (ledger_.find_node(place.node) == nullptr) continue;
    loads[place.node];
    for (const std::string& id : place.gpus) promised[place.node].insert(id);
  }
  for (const std::string& id : ledger_.holders()) {
    const LedgerPod& pod = *ledger_.find_pod(id);
    if (pod.phase == LedgerPhase::kStopping) continue;
    const auto load = loads.find(pod.node);
    if (load == loads.end()) continue;
    load->second.add(*ledger_.find_node(pod.node), pod.shape, pod.gpus);
  }
  for (const std::string& id : ledger_.promised()) {
    for (const model::PodBinding& place : ledger_.find_job(id)->promises) {
      const auto load = loads.find(place.node);
      if (load == loads.end()) continue;
      load->second.add(*ledger_.find_node(place.node), ledger_.find_pod(place.pod)->shape,
                       place.gpus);
    }
  }
  for (const auto& [name, load] : loads) {
    if (load.fits(*ledger_.find_node(name), promised[name])) continue;
    report(Rule::kWrongPromise, now,
           "What was promised to job " + displace.job + " on node " + name +
               " does not fit even when all have gone who were asked to.");
  }
}

// Whether these are the places that were promised; from now on they are held, or nobody's.
bool Checker::judge_promise_kept(const model::Bind& bind, LedgerJob& job, base::Instant now) {
  if (job.promise_until == base::Instant::never()) return false;
  const bool kept =
      bind.pods.size() == job.promises.size() &&
      std::ranges::all_of(bind.pods, [&](const model::PodBinding& place) {
        return std::ranges::any_of(job.promises, [&](const model::PodBinding& promised) {
          return same_place(place, promised);
        });
      });
  if (!kept) {
    report(Rule::kPromiseNotKept, now,
           "Job " + bind.job + " was bound to other places than were promised to it.");
  }
  ledger_.drop_promises(job);
  return kept;
}

void Checker::judge_promise_end(const model::PromiseEnded& ended, base::Instant now) {
  LedgerJob* job = ledger_.find_job(ended.job);
  if (job == nullptr) {
    report(Rule::kUnknownName, now,
           "A promise to the job " + ended.job + " ended, which is not there.");
    return;
  }
  if (ended.why == model::PromiseEnd::kLate && now < job->promise_until) {
    report(Rule::kWrongPromise, now,
           "A promise to job " + ended.job + " ended as late before it was.");
  }
  ledger_.drop_promises(*job);
  job->retry_at = ended.retry_at;
}

void Checker::judge_queues(const LedgerJob& job, base::Instant now) {
  for (const QueueExcess& excess : queue_excesses(ledger_, job.spec)) {
    report(excess.firm ? Rule::kQueueQuota : Rule::kQueueLimit, now,
           "With job " + job.spec.id + " queue " + excess.queue + " has " +
               std::to_string(excess.amount) + " of " + excess.resource + ", more than its " +
               (excess.firm ? "quota" : "limit") + " of " + std::to_string(excess.allowed) + ".");
  }
}

}  // namespace mainspring::sim
