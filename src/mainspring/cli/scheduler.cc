// SPDX-License-Identifier: Apache-2.0
// `mainspring scheduler`: the program that works on a cluster.
#include "mainspring/kube/scheduler.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <CLI/App.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "mainspring/cli/scheduler_witness.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/config/scheduler_config.h"
#include "mainspring/kube/credentials.h"
#include "mainspring/kube/curl_transport.h"
#include "mainspring/kube/kubeconfig.h"
#include "mainspring/kube/system_clock.h"
#include "mainspring/server/health.h"
#include "mainspring/server/http_server.h"
#include "mainspring/version.h"

namespace mainspring::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr int kLooksPerConfigCheck = 25;

struct SchedulerFlags {
  std::string kubeconfig;
  std::string context;
  std::string config;
  std::string listen = "127.0.0.1:9095";
  std::string record;
};

// Only lock-free atomics are touched by the handlers; a thread looks at them.
std::atomic<int> stop_signals{0};
std::atomic<int> reload_signals{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_stop(int) { ++stop_signals; }
void on_reload(int) { ++reload_signals; }

void catch_signals() {
  struct sigaction stop{};
  stop.sa_handler = on_stop;
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGINT, &stop, nullptr);
  struct sigaction reload{};
  reload.sa_handler = on_reload;
  sigaction(SIGHUP, &reload, nullptr);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

// Unlike that of any process before: pods keep their names when their containers start anew.
std::string identity(base::Instant now) {
  std::string host(256, '\0');
  if (gethostname(host.data(), host.size()) != 0) host = "unknown";
  host.resize(std::char_traits<char>::length(host.c_str()));
  return fmt::format("{}_{}_{}", host, getpid(), now.ms);
}

base::Result<config::SchedulerConfig> read_configuration(const std::string& path) {
  return path.empty() ? config::parse_scheduler_config("", "(no file)")
                      : config::read_scheduler_config(path);
}

base::Result<kube::ClusterAccess> find_access(const SchedulerFlags& flags,
                                              const kube::Clock& clock) {
  if (!flags.kubeconfig.empty()) {
    return kube::read_kubeconfig(clock, {flags.kubeconfig}, flags.context);
  }
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return kube::in_cluster_access(clock);
  if (const char* paths = std::getenv("KUBECONFIG"); paths != nullptr && *paths != '\0') {
    return kube::read_kubeconfig(clock, {paths}, flags.context);
  }
  return base::invalid(
      "--kubeconfig: is missing; outside of a cluster it says where the API server is");
}

// Passes on what signals and files say, while the scheduler's own thread works.
class Watchman {
 public:
  Watchman(const SchedulerFlags& flags, kube::Scheduler& scheduler, kube::Transport& transport,
           server::Health& health, std::atomic<bool>& stop)
      : flags_(flags),
        scheduler_(scheduler),
        transport_(transport),
        health_(health),
        stop_(stop),
        text_(text_of_file()),
        thread_([this] { watch(); }) {}
  ~Watchman() {
    ended_ = true;
    thread_.join();
  }
  Watchman(const Watchman&) = delete;
  Watchman& operator=(const Watchman&) = delete;

 private:
  std::string text_of_file() const {
    if (flags_.config.empty()) return {};
    const auto text = kube::read_small_file(flags_.config, size_t{8} << 20);
    return text ? *text : std::string{};
  }

  void watch() {
    int64_t round_seen = 0;
    for (int looks = 0; !ended_; ++looks) {
      std::this_thread::sleep_for(kLookEvery);
      if (stop_signals > 0 && !stop_.exchange(true)) transport_.wake();
      const int64_t round = scheduler_.last_round_ms();
      if (round != round_seen) health_.beat();
      round_seen = round;
      health_.set_ready("synced", scheduler_.ready(), "not every kind has been listed yet");
      const bool asked = reload_signals.exchange(0) > 0;
      if (asked || looks % kLooksPerConfigCheck == 0) reload(asked);
    }
  }

  void reload(bool asked) {
    std::string text = text_of_file();
    if (flags_.config.empty() || text.empty() || (text == text_ && !asked)) return;
    text_ = std::move(text);
    auto next = config::parse_scheduler_config(text_, flags_.config);
    if (!next) {
      fmt::print(stderr, "mainspring: the configuration is not taken over: {}\n",
                 next.error().message);
      return;
    }
    scheduler_.reconfigure(std::move(*next));
  }

  const SchedulerFlags& flags_;
  kube::Scheduler& scheduler_;
  kube::Transport& transport_;
  server::Health& health_;
  std::atomic<bool>& stop_;
  std::string text_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

ExitCode serve(const SchedulerFlags& flags) {
  auto configuration = read_configuration(flags.config);
  if (!configuration) return report(configuration.error());
  const kube::SystemClock clock;
  auto access = find_access(flags, clock);
  if (!access) return report(access.error());
  auto witness = SchedulerWitness::create(clock, flags.record);
  if (!witness) return report(witness.error());
  for (const std::string& warning : access->warnings) (*witness)->say("warning", warning);
  for (const std::string& warning : config::warnings(*configuration)) {
    (*witness)->say("warning", warning);
  }
  const std::string home =
      access->namespace_name.empty() ? "mainspring-system" : access->namespace_name;
  auto transport = kube::open_transport(std::move(*access),
                                        {.connections_max = configuration->binds_parallel + 8,
                                         .user_agent = fmt::format("mainspring/{}", kVersion)});
  if (!transport) return report(transport.error());

  catch_signals();
  report::SchedulerMetrics metrics(kVersion);
  std::atomic<bool> stop{false};
  kube::Scheduler scheduler(
      **transport, clock, metrics, **witness,
      {.config = std::move(*configuration),
       .identity = identity(clock.now()),
       .home_namespace = home,
       .seed = static_cast<uint64_t>(clock.now().ms) ^ (static_cast<uint64_t>(getpid()) << 40)});
  server::Health health;
  server::HttpServer http;
  server::add_operations(http, health, scheduler.metrics_text());
  if (auto ok = http.start(flags.listen); !ok) return report(ok.error());
  (*witness)->say("info", fmt::format("mainspring {} listens on {}", kVersion, http.address()));

  base::Status done;
  {
    const Watchman watchman(flags, scheduler, **transport, health, stop);
    done = scheduler.run(stop);
  }
  http.stop();
  if (!done) return report(done.error());
  if (auto ok = (*witness)->finish(); !ok) return report(ok.error());
  return ExitCode::kOk;
}

}  // namespace

void add_scheduler(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("scheduler", "Schedule the pods of a Kubernetes cluster");
  auto flags = std::make_shared<SchedulerFlags>();
  command->add_option("--kubeconfig", flags->kubeconfig,
                      "How to reach the API server; without it, the pod's own account");
  command->add_option("--context", flags->context, "Which context of the kubeconfig");
  command->add_option("--config", flags->config,
                      "The configuration (docs/reference/configuration.md); read again when it "
                      "changes, or on SIGHUP");
  command
      ->add_option("--listen", flags->listen,
                   "HOST:PORT for /healthz, /readyz and /metrics; port 0 takes any")
      ->capture_default_str();
  command->add_option("--record", flags->record,
                      "Write all that happens to this event file, for `mainspring simulate FILE`");
  command->callback([&action, flags] { action = [flags] { return serve(*flags); }; });
}

}  // namespace mainspring::cli
