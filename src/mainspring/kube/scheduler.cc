// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/scheduler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <tuple>
#include <utility>

#include "mainspring/engine/explain.h"
#include "mainspring/kube/decode.h"
#include "mainspring/model/snapshot.h"

namespace mainspring::kube {
namespace {

using base::Instant;
using base::Status;

constexpr base::Duration kPublishEvery = base::seconds(1);
constexpr base::Duration kEndWithin = base::seconds(10);
constexpr base::Duration kArrivalPatience = base::seconds(1);
constexpr base::Duration kWaitMax = base::seconds(5);
// What a plan wants looked at again is not looked at more often, whatever it wants.
constexpr base::Duration kLookAgainMin = base::milliseconds(10);
constexpr size_t kNamesSlack = 20'000;
constexpr int kMinorMin = 34;
constexpr int kMinorMax = 37;

Naming naming_of(const config::SchedulerConfig& config) {
  Naming naming{.schedulers = config.schedulers,
                .gpu_resources = config.core.gpu_resources,
                .gpu_model_label = config.gpu_model_label,
                .gpu_memory_label = config.gpu_memory_label,
                .default_queue = config.default_queue};
  for (const config::NamespaceQueue& row : config.namespace_queues) {
    naming.namespace_queues[row.name] = row.queue;
  }
  return naming;
}

template <class Object, void (JobBook::*Seen)(Object), void (JobBook::*Gone)(const Object&)>
class BookSink final : public ObjectSink<Object> {
 public:
  explicit BookSink(JobBook& book) : book_(book) {}
  void seen(Object object) override { (book_.*Seen)(std::move(object)); }
  void gone(const Object& last) override { (book_.*Gone)(last); }
  void synced() override {}

 private:
  JobBook& book_;
};

class NodeSink final : public ObjectSink<NodeObject> {
 public:
  explicit NodeSink(JobBook& book) : book_(book) {}
  void seen(NodeObject node) override { book_.node_seen(std::move(node)); }
  void gone(const NodeObject& last) override { book_.node_gone(last.meta.name); }
  void synced() override {}

 private:
  JobBook& book_;
};

int64_t microseconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               from)
      .count();
}

}  // namespace

struct Scheduler::Sinks {
  Sinks(Scheduler& owner, JobBook& book)
      : node_sink(book),
        pod_sink(book),
        job_sink(book),
        group_sink(book),
        nodes(owner.transport_, owner.clock_, node_sink, decode_node,
              {.paths = {"/api/v1/nodes"}, .seed = owner.setup_.seed + 1}),
        pods(owner.transport_, owner.clock_, pod_sink, decode_pod,
             {.paths = {"/api/v1/pods"}, .seed = owner.setup_.seed + 2}),
        jobs(owner.transport_, owner.clock_, job_sink, decode_batch_job,
             {.paths = {"/apis/batch/v1/jobs"},
              .may_be_absent = true,
              .seed = owner.setup_.seed + 3}),
        groups(owner.transport_, owner.clock_, group_sink, decode_pod_group,
               {.paths = {"/apis/scheduling.k8s.io/v1beta1/podgroups",
                          "/apis/scheduling.k8s.io/v1alpha2/podgroups"},
                .may_be_absent = true,
                .seed = owner.setup_.seed + 4}) {}

  template <class Visit>
  void each(const Visit& visit) {
    visit("nodes", nodes);
    visit("pods", pods);
    visit("jobs", jobs);
    visit("podgroups", groups);
  }

  NodeSink node_sink;
  BookSink<PodObject, &JobBook::pod_seen, &JobBook::pod_gone> pod_sink;
  BookSink<BatchJobObject, &JobBook::batch_job_seen, &JobBook::batch_job_gone> job_sink;
  BookSink<PodGroupObject, &JobBook::pod_group_seen, &JobBook::pod_group_gone> group_sink;
  Reflector<NodeObject> nodes;
  Reflector<PodObject> pods;
  Reflector<BatchJobObject> jobs;
  Reflector<PodGroupObject> groups;
};

Scheduler::Scheduler(Transport& transport, const Clock& clock, report::SchedulerMetrics& metrics,
                     Witness& witness, SchedulerSetup setup)
    : transport_(transport),
      clock_(clock),
      metrics_(metrics),
      witness_(witness),
      setup_(std::move(setup)),
      shadow_(setup_.config.mode == config::SchedulerMode::kShadow),
      book_(naming_of(setup_.config)),
      recorder_(transport, clock, {.instance = setup_.identity}) {
  ExecutorOptions options{.binds_parallel = setup_.config.binds_parallel,
                          .events_for_single_pods = setup_.config.events_for_single_pods};
  executor_ = std::make_unique<Executor>(
      Executor::World{transport_, clock_, book_, state_, recorder_, metrics_}, options);
  const config::LeaderElection& lease = setup_.config.leader_election;
  if (lease.enabled && !shadow_) {
    election_ = std::make_unique<LeaseElection>(
        transport_, clock_,
        LeaseOptions{.namespace_name = lease.namespace_name.empty() ? setup_.home_namespace
                                                                    : lease.namespace_name,
                     .name = lease.name,
                     .identity = setup_.identity,
                     .lasts = lease.lease_duration,
                     .renew_within = lease.renew_deadline,
                     .retry_every = lease.retry_period,
                     .seed = setup_.seed});
  }
}

Scheduler::~Scheduler() = default;

void Scheduler::reconfigure(config::SchedulerConfig next) {
  {
    const std::lock_guard lock(next_config_mutex_);
    next_config_ = std::move(next);
  }
  transport_.wake();
}

Status Scheduler::run(const std::atomic<bool>& stop) {
  if (auto ok = check_version(stop); !ok) return ok;
  if (auto ok = begin(); !ok) return ok;
  while (!stop) {
    round();
    if (!stop) wait();
  }
  end();
  return {};
}

// Asks until there is an answer: a scheduler that starts before its server waits for it.
Status Scheduler::check_version(const std::atomic<bool>& stop) {
  std::optional<base::Result<HttpReply>> answer;
  bool told = false;
  while (!stop) {
    answer.reset();
    transport_.send({.target = "/version", .timeout = base::seconds(5)},
                    [&answer](base::Result<HttpReply> reply) { answer = std::move(reply); });
    while (!answer) transport_.poll(base::seconds(1));
    if (*answer && (**answer).ok()) break;
    const std::string why =
        *answer ? "status " + std::to_string((**answer).status) : answer->error().message;
    if (!std::exchange(told, true)) {
      witness_.say("warning", "the API server does not answer: " + why);
    }
    const Instant again = clock_.now() + base::seconds(1);
    while (!stop && clock_.now() < again) transport_.poll(again - clock_.now());
  }
  if (stop) return {};
  const auto version = base::parse_json((**answer).body);
  const base::Json* major = version ? version->find("major") : nullptr;
  const base::Json* minor = version ? version->find("minor") : nullptr;
  const auto text = [](const base::Json* value) {
    return value != nullptr && value->is(base::Json::Kind::kString) ? value->as_string()
                                                                    : std::string{};
  };
  int number = 0;
  const std::string digits = text(minor);  // "36", or "36+" of some vendors
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (text(major) == "1" && number >= kMinorMin && number <= kMinorMax) return {};
  return base::invalid("the API server is Kubernetes " + text(major) + "." + digits +
                       "; Mainspring works with 1.34 to 1.37");
}

Status Scheduler::apply(model::EventBody body) {
  model::Event event{++sequence_, clock_.now(), std::move(body)};
  auto done = state_.apply(event);
  if (!done) {
    witness_.say("warning", "refused: " + done.error().message);
    return done;
  }
  changed_at_ = std::min(changed_at_, event.at);
  if (began_) witness_.happened(event);
  return done;
}

Status Scheduler::begin() {
  if (auto ok = apply(model::ConfigChanged{setup_.config.core}); !ok) return ok;
  for (const model::QueueSpec& queue : setup_.config.queues) {
    if (auto ok = apply(model::QueueChanged{queue}); !ok) return ok;
  }
  sinks_ = std::make_unique<Sinks>(*this, book_);
  return {};
}

void Scheduler::take_configuration() {
  std::optional<config::SchedulerConfig> next;
  {
    const std::lock_guard lock(next_config_mutex_);
    next = std::exchange(next_config_, std::nullopt);
  }
  if (!next) return;
  if (next->core != setup_.config.core && !apply(model::ConfigChanged{next->core})) return;
  for (const model::QueueSpec& queue : next->queues) {
    if (std::ranges::find(setup_.config.queues, queue) != setup_.config.queues.end()) continue;
    (void)apply(model::QueueChanged{queue});
  }
  // Those below first.
  for (auto old = setup_.config.queues.rbegin(); old != setup_.config.queues.rend(); ++old) {
    const bool stays = std::ranges::any_of(
        next->queues, [&](const model::QueueSpec& queue) { return queue.name == old->name; });
    if (!stays) (void)apply(model::QueueGone{old->name});
  }
  for (const std::string_view field : config::changed_until_restart(setup_.config, *next)) {
    witness_.say("warning", std::string(field) + " takes effect at the next start");
  }
  setup_.config.core = next->core;
  setup_.config.queues = next->queues;
}

bool Scheduler::synced() const {
  bool all = true;
  sinks_->each([&all](const char*, auto& reflector) { all = all && reflector.synced(); });
  return all;
}

bool Scheduler::leads(Instant now) const { return election_ == nullptr || election_->leads(now); }

void Scheduler::follow_leadership(Instant now) {
  if (election_ != nullptr) election_->tick(now);
  const bool leads_now = leads(now);
  if (leads_now == led_) return;
  led_ = leads_now;
  metrics_.leader.at().set(leads_now ? 1 : 0);
  if (election_ == nullptr) return;
  witness_.say("info", leads_now ? "leads from now on" : "does not lead any more");
  if (leads_now) {
    executor_->stand_up();
    // Whatever waits has waited for this.
    next_cycle_ = now;
  } else {
    executor_->stand_down();
  }
}

void Scheduler::flush(Instant now) {
  book_.flush(state_, now, [this](model::EventBody body) { return apply(std::move(body)); });
}

void Scheduler::settle_outcomes() {
  for (model::EventBody& outcome : executor_->take_outcomes()) (void)apply(std::move(outcome));
}

void Scheduler::round() {
  const Instant now = clock_.now();
  last_round_ms_ = now.ms;
  take_configuration();
  sinks_->each([now](const char*, auto& reflector) { reflector.tick(now); });
  follow_leadership(now);
  if (synced()) {
    settle_outcomes();
    if (cycle_is_due(now)) cycle(now);
    tell_notices();
  }
  if (leads(now) && !shadow_) executor_->tick(now);
  recorder_.tick(now);
  if (now >= published_at_ + kPublishEvery) publish(now);
}

base::Duration Scheduler::gathering() const {
  return executor_->binding() ? setup_.config.batch_wait : setup_.config.cycle_delay_min;
}

bool Scheduler::cycle_is_due(Instant now) {
  if (book_.dirty() && changed_at_ == Instant::never()) changed_at_ = now;
  if (next_cycle_ <= now || book_.next_deadline() <= now) return true;
  if (changed_at_ == Instant::never()) return false;
  return now >= changed_at_ + gathering();
}

void Scheduler::cycle(Instant now) {
  flush(now);
  if (!began_) {
    began_ = true;
    witness_.began(state_);
    witness_.say("info", "knows " + std::to_string(book_.pod_count()) + " pods and begins");
  }
  ready_ = true;
  forget_unused_names();
  changed_at_ = Instant::never();
  if (!leads(now)) {
    next_cycle_ = Instant::never();
    return;
  }
  const auto begun = std::chrono::steady_clock::now();
  const model::Plan plan = engine_->run_cycle(state_, now);
  metrics_.cycle_duration.at().observe(microseconds_since(begun));
  next_cycle_ = std::max(plan.next_wake, now + kLookAgainMin);
  witness_.decided(now, plan);
  if (shadow_) return executor_->pretend(plan);
  executor_->take_on(plan);
  for (const model::Explanation& told : plan.explanations) {
    if (told.verdict.kind == model::VerdictKind::kNow) continue;
    const model::JobIx job = state_.find_job(told.job);
    if (!job.valid()) continue;
    executor_->explain(told.job, "Unschedulable", engine::sentence(told.verdict, state_, job));
  }
}

// Tenants make up names as they like: what is known is kept within twice what is in use.
void Scheduler::forget_unused_names() {
  if (names_max_ == 0) names_max_ = 2 * state_.names_known() + kNamesSlack;
  const size_t known = state_.names_known();
  if (known <= names_max_) return;
  for (model::DemandRestored& end : model::end_of_unused_demand(state_))
    (void)apply(std::move(end));
  state_ = model::without_unused_names(state_);
  engine_ = std::make_unique<engine::Engine>();
  names_max_ = 2 * state_.names_known() + kNamesSlack;
  witness_.say("info", "of " + std::to_string(known) + " names and shapes " +
                           std::to_string(state_.names_known()) +
                           " are in use; the others are forgotten");
}

void Scheduler::tell_notices() {
  if (shadow_ || !led_) return;
  for (const Notice& notice : book_.take_notices()) {
    if (!notice.obstacle) continue;
    // Pods of a gang arrive one by one; nobody needs to be told of that.
    const bool passes = notice.obstacle->code == "PodsMissing";
    executor_->explain_pod(notice.pod, notice.obstacle->code, notice.obstacle->message,
                           passes ? clock_.now() + kArrivalPatience : Instant{});
  }
}

Instant Scheduler::next_deadline(Instant now) const {
  Instant first = std::min({now + kWaitMax, published_at_ + kPublishEvery, next_cycle_,
                            book_.next_deadline(), recorder_.next_deadline()});
  if (!shadow_ && leads(now)) first = std::min(first, executor_->next_deadline());
  if (election_ != nullptr) first = std::min(first, election_->next_deadline());
  sinks_->each([&first](const char*, auto& reflector) {
    first = std::min(first, reflector.next_deadline());
  });
  if (book_.dirty() || changed_at_ != Instant::never()) {
    const Instant since = changed_at_ == Instant::never() ? now : changed_at_;
    if (synced()) first = std::min(first, since + gathering());
  }
  return first;
}

void Scheduler::wait() {
  const Instant now = clock_.now();
  const Instant until = next_deadline(now);
  transport_.poll(until > now ? until - now : base::milliseconds(0));
}

void Scheduler::publish(Instant now) {
  published_at_ = now;
  sinks_->each([this](const char* name, auto& reflector) {
    metrics_.watch_relists.at({name}).set(static_cast<int64_t>(reflector.counters().lists));
    metrics_.watch_synced.at({name}).set(reflector.synced() ? 1 : 0);
  });
  metrics_.observe(state_, now, 0);
  metrics_text_.publish(metrics_.registry.render());
}

// What was begun is ended, so that the next leader finds no half gang.
void Scheduler::end() {
  ready_ = false;
  const Instant by = clock_.now() + kEndWithin;
  while (clock_.now() < by && (!executor_->idle() || !recorder_.idle())) {
    const Instant now = clock_.now();
    if (leads(now) && !shadow_) executor_->tick(now);
    recorder_.tick(now);
    (void)executor_->take_outcomes();
    transport_.poll(base::milliseconds(20));
  }
  if (election_ == nullptr) return;
  election_->release();
  while (clock_.now() < by && !election_->released()) transport_.poll(base::milliseconds(20));
}

}  // namespace mainspring::kube
