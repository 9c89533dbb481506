// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/job_place.h"

#include "mainspring/report/small_world_for_tests.h"

namespace mainspring::report {
namespace {

JobPlace place_of(SmallWorld& world, const std::string& job) {
  return job_place(world.state, world.engine.shares(world.state), world.state.find_job(job),
                   world.now);
}

TEST(JobPlace, InOneQueuePriorityComesBeforeAge) {
  SmallWorld world(4);
  world.submit("runs", "q", "t", 4);
  world.cycle();
  world.start("runs");
  world.at_second(1);
  world.submit("old", "q", "t", 4);
  world.at_second(2);
  world.submit("young", "q", "t", 4);
  world.submit("urgent", "other", "t", 4, -1);
  const JobPlace young = place_of(world, "young");
  EXPECT_TRUE(young.waits);
  EXPECT_TRUE(young.path.empty());
  EXPECT_EQ(young.position_in_queue, 2);
  EXPECT_EQ(young.waiting_in_queue, 2);
  EXPECT_EQ(young.position, 2);
  EXPECT_EQ(young.waiting, 3);
  EXPECT_EQ(place_of(world, "urgent").position, 3);
  const JobPlace runs = place_of(world, "runs");
  EXPECT_FALSE(runs.waits);
  EXPECT_EQ(runs.position, 0);
  EXPECT_EQ(runs.running_since, base::Instant{});
}

TEST(JobPlace, SaysWhereTheQueueStandsAmongItsSiblings) {
  Reclaimed world;
  const JobPlace claim = place_of(world, "claim");
  EXPECT_EQ(claim.tenant, "olga");
  EXPECT_NE(claim.promised_until, base::Instant::never());
  EXPECT_EQ(claim.displaced_for_it, std::vector<std::string>{"guest"});
  world.at_second(610);
  world.end("guest", model::PodEnd::kLost);
  world.cycle();
  const JobPlace guest = place_of(world, "guest");
  EXPECT_EQ(guest.displacements, 1);
  EXPECT_EQ(guest.displacements_max, 2);
  ASSERT_EQ(guest.path.size(), 1U);
  EXPECT_EQ(guest.path[0].queue, "guests");
  EXPECT_FALSE(guest.path[0].below_quota);
  EXPECT_EQ(guest.path[0].siblings, 2);
  EXPECT_FALSE(guest.may_reclaim);
  EXPECT_EQ(guest.position, 1);
}

TEST(JobPlace, AQueueThatIsNotThereHasNoPlace) {
  Reclaimed world;
  world.submit("lost", "nowhere", "t", 1);
  const JobPlace lost = place_of(world, "lost");
  EXPECT_TRUE(lost.path.empty());
  EXPECT_EQ(lost.position, 0);
  EXPECT_EQ(lost.admission.code, model::ReasonCode::kUnknownQueue);
}

}  // namespace
}  // namespace mainspring::report
