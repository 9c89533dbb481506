// SPDX-License-Identifier: Apache-2.0
// The plain CSV of jobs from arbitrary bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/sim/job_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using mainspring::sim::JobCsvReader;
  using mainspring::sim::LineReader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto reader = JobCsvReader::open(LineReader::from_memory("jobs.csv", text, 4096));
  if (!reader) return 0;
  while (true) {
    const auto job = reader->next();
    if (!job || !*job) break;
    MAINSPRING_CHECK((*job)->pods >= 1 && (*job)->min_pods >= 1, "a job has pods");
    MAINSPRING_CHECK((*job)->min_pods <= (*job)->pods, "a minimum is within the number of pods");
    MAINSPRING_CHECK((*job)->submit_seconds >= 0 && (*job)->memory_bytes >= 0,
                     "amounts are not negative");
  }
  return 0;
}
