// SPDX-License-Identifier: Apache-2.0
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

#include "mainspring/report/metric_registry.h"
#include "mainspring/server/health.h"

namespace mainspring::server {
namespace {

constexpr int64_t kMicroPerSecond = 1'000'000;

int64_t micros(const timeval& time) {
  return int64_t{time.tv_sec} * kMicroPerSecond + int64_t{time.tv_usec};
}

// Nothing where /proc has no such file, as in some sandboxes.
int64_t resident_bytes() {
  std::ifstream stream("/proc/self/statm");
  int64_t pages_total = 0;
  int64_t pages_resident = 0;
  if (!(stream >> pages_total >> pages_resident)) return 0;
  return pages_resident * int64_t{::sysconf(_SC_PAGESIZE)};
}

int64_t open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator folder("/proc/self/fd", error);
  return error ? 0 : std::distance(begin(folder), end(folder));
}

// When this process began, as near as it can tell itself.
const std::time_t kStartedAt = std::time(nullptr);

}  // namespace

std::string process_metrics() {
  report::MetricRegistry registry;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  registry
      .counter("process_cpu_seconds_total", "CPU time of the process, of the kernel included.", {},
               report::MetricUnit::kMicro)
      .at()
      .set(micros(usage.ru_utime) + micros(usage.ru_stime));
  if (const int64_t bytes = resident_bytes(); bytes > 0) {
    registry.gauge("process_resident_memory_bytes", "Memory of the process.").at().set(bytes);
  }
  if (const int64_t files = open_files(); files > 0) {
    registry.gauge("process_open_fds", "Files and connections that are open.").at().set(files);
  }
  registry.gauge("process_start_time_seconds", "When the process began, in Unix seconds.")
      .at()
      .set(int64_t{kStartedAt});
  return registry.render();
}

}  // namespace mainspring::server
