// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

constexpr int64_t kPublishedInflateMilli = 1300;

class JobList {
 public:
  explicit JobList(std::vector<ScenarioJob>& jobs) : jobs_(jobs) {}

  void add(const Section& section, ScenarioJob job) {
    pods_ += job.spec.pods.size();
    if (pods_ > kScenarioPodsMax) {
      section.report("copies",
                     "the jobs have more than " + std::to_string(kScenarioPodsMax) + " pods");
      return;
    }
    if (!ids_.insert(job.spec.id).second) {
      section.report("id", "there are two jobs with the id '" + job.spec.id + "'");
      return;
    }
    jobs_.push_back(std::move(job));
  }

 private:
  std::vector<ScenarioJob>& jobs_;
  std::set<std::string> ids_;
  size_t pods_ = 0;
};

// What the model itself refuses; the form gets a name for the time of the question.
void check_form(const Section& section, const model::JobSpec& form) {
  if (section.reading().failed()) return;
  if (auto ok = model::validate(named_job(form, "job")); !ok) {
    section.reading().report(section.node(), section.path() + ": " + ok.error().message);
  }
}

void read_job(const Section& section, const Scenario& scenario, JobList& list) {
  ScenarioJob job;
  job.name = section.text("id");
  read_owner(section, scenario.priority_classes, job.spec);
  job.spec.submitted_at = section.instant("at");
  if (section.has("duration")) job.run = section.duration("duration");
  job.spec.expected_run = section.has("expected_duration") ? section.duration("expected_duration")
                                                           : job.run.value_or(base::Duration{});
  read_gang(section, job.spec);
  check_form(section, job.spec);
  const base::Duration every = section.duration("every");
  const bool copies = section.has("copies");
  if (section.has("every") && !copies) section.report("every", "has no meaning without `copies`");
  const int64_t count = copies ? section.amount("copies") : 1;
  for (int64_t i = 0; i < count && !section.reading().failed(); ++i) {
    ScenarioJob copy{.name = job.name, .run = job.run};
    copy.spec = named_job(job.spec, copies ? job.name + "-" + std::to_string(i) : job.name);
    copy.spec.submitted_at = job.spec.submitted_at + base::milliseconds(every.ms * i);
    list.add(section, std::move(copy));
  }
}

JobMix read_mix(const Section& section, const Scenario& scenario) {
  JobMix mix;
  mix.name = section.text("name");
  mix.weight = section.amount("weight");
  read_owner(section, scenario.priority_classes, mix.form);
  mix.run_mean = section.duration("duration_mean");
  const auto [min, max] = section.durations("duration");
  mix.run = {min, max};
  mix.form.expected_run = mix.run_mean;
  read_gang(section, mix.form);
  check_form(section, mix.form);
  return mix;
}

// Bounded before it is drawn: hours × rate × the largest kind.
void check_size(const Section& section, const GeneratedWorkload& workload) {
  size_t pods_max = 0;
  for (const JobMix& mix : workload.mix) pods_max = std::max(pods_max, mix.form.pods.size());
  const double hours = static_cast<double>((workload.until - workload.from).ms) / 3'600'000.0;
  const double pods =
      hours * static_cast<double>(workload.jobs_per_hour) * static_cast<double>(pods_max);
  if (pods > static_cast<double>(10 * kScenarioPodsMax)) {
    section.report("jobs_per_hour", "may draw more than 10,000,000 pods until `until`");
  }
}

GeneratedWorkload read_generated(const Section& section, const Scenario& scenario) {
  constexpr ArrivalProcess kProcesses[] = {ArrivalProcess::kPoisson, ArrivalProcess::kEven,
                                           ArrivalProcess::kDaily};
  GeneratedWorkload workload;
  workload.name = section.text("name");
  workload.from = section.instant("from");
  workload.until = section.instant("until");
  workload.jobs_per_hour = section.amount("jobs_per_hour");
  workload.process = kProcesses[section.choice("arrivals")];
  workload.seed = static_cast<uint64_t>(section.amount("seed"));
  std::set<std::string> names;
  for (const Section& kind : section.many("mix", mix_table())) {
    workload.mix.push_back(read_mix(kind, scenario));
    if (!names.insert(workload.mix.back().name).second) {
      kind.report("name", "there are two kinds with this name");
    }
  }
  if (workload.mix.empty()) section.report("mix", "is empty; expected at least one kind of job");
  if (workload.until <= workload.from) {
    section.report("until", "is not after `from`");
  }
  if (!section.reading().failed()) check_size(section, workload);
  return workload;
}

void read_openb(const Section& section, Scenario& scenario) {
  OpenbWorkload openb;
  openb.list = section.text("pods");
  openb.orders = section.choice("orders") == 0 ? OrderSource::kPublished : OrderSource::kGenerated;
  openb.inflate_milli = section.amount("inflate");
  if (openb.orders == OrderSource::kPublished && openb.inflate_milli != kPublishedInflateMilli) {
    section.report("inflate", "the published orders are of 1.3; expected `orders: generated`");
  }
  openb.distinct_pods = section.amount("distinct");
  if (openb.orders == OrderSource::kPublished && openb.distinct_pods != 0) {
    section.report("distinct", "such a list has no published order; expected `orders: generated`");
  }
  scenario.openb = openb;
}

}  // namespace

model::JobSpec named_job(const model::JobSpec& form, const std::string& id) {
  model::JobSpec job = form;
  job.id = id;
  for (model::PodSpec& pod : job.pods) pod.id = id + "/" + pod.id;
  return job;
}

void read_workload(const Section& workload, Scenario& scenario) {
  JobList list(scenario.jobs);
  for (const Section& section : workload.many("jobs", job_table())) {
    read_job(section, scenario, list);
  }
  std::set<std::string> names;
  for (const Section& section : workload.many("generate", generated_jobs_table())) {
    scenario.generated.push_back(read_generated(section, scenario));
    if (!names.insert(scenario.generated.back().name).second) {
      section.report("name", "there are two generated workloads with this name");
    }
  }
  if (const auto trace = workload.one("trace", trace_table())) {
    scenario.trace_csv = trace->text("csv");
    if (scenario.trace_csv.empty()) trace->report("csv", "is empty; expected the name of a file");
  }
  if (const auto philly = workload.one("philly", philly_table())) {
    read_philly(*philly, scenario);
    for (const char* field : {"jobs", "generate", "trace", "openb"}) {
      if (workload.has(field)) workload.report(field, "has no meaning beside `philly`");
    }
  }
  const auto openb = workload.one("openb", openb_pods_table());
  if (!openb) return;
  read_openb(*openb, scenario);
  if (workload.has("jobs") || workload.has("generate") || workload.has("trace")) {
    workload.report("openb", "stands alone; other jobs beside it have no meaning");
  }
}

}  // namespace mainspring::config
