// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/make_room.h"

#include <algorithm>

#include "mainspring/policy/queue_world_for_tests.h"

namespace mainspring::policy {
namespace {

using model::JobIx;

class MakeRoomTest : public QueueWorld {
 protected:
  std::optional<Room> room_for(JobIx claimant) {
    FirstFit placer;
    const VictimPool pool(state_, now_);
    const Rights rights(state_, shares(), claimant, now_);
    return make_room(state_, placer, pool, rights, claimant, now_).room;
  }
  std::vector<std::string> victims_of(const Room& room) const {
    std::vector<std::string> ids;
    for (const RoomVictim& victim : room.victims) ids.push_back(state_.job(victim.job).id);
    return ids;
  }
  // Whether the claimant fits when all of them stop but one.
  bool fits_without(const Room& room, size_t spared, JobIx claimant) {
    FirstFit placer;
    model::Trial trial(state_);
    for (size_t i = 0; i < room.victims.size(); ++i) {
      if (i == spared) continue;
      for (const model::PodIx pod : room.victims[i].pods) trial.vacate(pod);
    }
    return placer.place(trial, {.job = claimant, .when = {now_}, .grow = false}).kind ==
           model::VerdictKind::kNow;
  }

  using Names = std::vector<std::string>;
};

// In order of price one, two and three devices are freed, and only all six are enough for four. The
// claimant then lies on each of the first two, so that neither can be put back where it was; and
// yet the first and the third would do.
TEST_F(MakeRoomTest, AVictimWhosePlaceIsTakenMayStillBeOneTooMany) {
  add_node("n", 6);
  for (uint32_t size = 1; size <= 3; ++size) {
    run(job("v" + std::to_string(size), "default", 1, size));
  }
  const auto room = room_for(submit(job("claim", "default", 1, 4, 1)));
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(victims_of(*room), (Names{"v1", "v3"}));
}

// Random nodes full of small jobs, and one that needs several of them to go.
TEST_F(MakeRoomTest, NobodyCanBeLeftOut) {
  base::Rng rng(7);
  add_node("n0", 8);
  add_node("n1", 8);
  int64_t several = 0;
  for (int world = 0; world < 300; ++world) {
    const std::string prefix = "w" + std::to_string(world) + "-";
    std::vector<std::string> ids;
    for (int i = 0; i < 16; ++i) {
      model::JobSpec spec =
          job(prefix + std::to_string(i), "default", 1, static_cast<uint32_t>(rng.between(1, 4)),
              static_cast<int32_t>(rng.between(0, 2)));
      spec.checkpoint_interval = base::seconds(rng.between(0, 3) * 7);
      run(spec);
      ids.push_back(spec.id);
    }
    wait(rng.between(1, 50));
    model::JobSpec spec = job(prefix + "claim", "default", static_cast<int>(rng.between(1, 2)),
                              static_cast<uint32_t>(rng.between(3, 7)), 5);
    const JobIx claim = submit(spec);
    ids.push_back(spec.id);
    if (const auto room = room_for(claim)) {
      several += room->victims.size() > 1 ? 1 : 0;
      for (size_t i = 0; i < room->victims.size(); ++i) {
        ASSERT_FALSE(fits_without(*room, i, claim)) << "world " << world << ", victim " << i;
      }
    }
    for (const std::string& id : ids) {
      for (const model::PodSpec& pod : job(id, "default", 2, 1).pods) {
        apply(model::PodGone{pod.id, 0, model::PodEnd::kRemoved});
      }
      apply(model::JobGone{id});
    }
  }
  EXPECT_GT(several, 100);
}

// A gang of two: the cheap one makes room for one pod, and the dear one is not needed for the
// other.
TEST_F(MakeRoomTest, PodsAboveAMinimumGoAlone) {
  add_node("n", 4);
  model::JobSpec elastic = job("elastic", "default", 4, 1);
  elastic.groups[0].min_count = 1;
  run(elastic);
  const auto room = room_for(submit(job("claim", "default", 2, 1, 1)));
  ASSERT_TRUE(room.has_value());
  ASSERT_EQ(victims_of(*room), Names{"elastic"});
  EXPECT_FALSE(room->victims[0].whole);
  EXPECT_EQ(room->victims[0].pods.size(), 2U);
}

TEST_F(MakeRoomTest, TheStateIsTheSameAfterwards) {
  add_node("n", 4);
  run(job("low", "default", 4, 1));
  const JobIx claim = submit(job("claim", "default", 1, 4, 1));
  const uint64_t before = state_.hash();
  ASSERT_TRUE(room_for(claim).has_value());
  EXPECT_EQ(state_.hash(), before);
  state_.check();
  EXPECT_FALSE(room_for(submit(job("huge", "default", 1, 5, 1))).has_value());
  EXPECT_FALSE(room_for(submit(job("meek", "default", 1, 4))).has_value()) << "equal priority";
}

}  // namespace
}  // namespace mainspring::policy
