// SPDX-License-Identifier: Apache-2.0
// Every scenario of the repository that needs nothing else does what it says.
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/sim/scenario_run.h"

namespace mainspring::sim {
namespace {

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("scenarios")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

TEST(ScenarioFiles, DoWhatTheySay) {
  int64_t run = 0;
  for (const std::string& file : scenario_files()) {
    const auto scenario = config::read_scenario(file);
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
    if (scenario->openb || file.find("/demo/") != std::string::npos) continue;
    const auto report = run_scenario(*scenario, scenario->seed);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    ++run;
    for (const Finding& finding : report->findings) {
      EXPECT_TRUE(finding.ok) << file << ":" << finding.line << ": " << finding.statement << "; "
                              << finding.found;
    }
    for (const Violation& violation : report->violations) {
      ADD_FAILURE() << file << ": " << violation.sentence;
    }
  }
  EXPECT_GT(run, 20);
}

}  // namespace
}  // namespace mainspring::sim
