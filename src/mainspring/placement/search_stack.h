// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "mainspring/placement/bins.h"
#include "mainspring/placement/key_set.h"
#include "mainspring/placement/scopes.h"
#include "mainspring/placement/shape_index.h"

// The rows of the stacks that Backtrack keeps.

namespace mainspring::placement {

struct SearchStack {
  static constexpr uint32_t kNone = UINT32_MAX;

  enum class TaskKind : uint8_t { kEnd, kGroup, kWish, kPick, kMembers, kRun };
  struct Task {
    TaskKind kind = TaskKind::kEnd;
    uint32_t index = 0;  // group, class or run
    uint32_t from = 0;   // kPick: item; kMembers: member
    uint32_t count = 0;
    uint32_t scope = 0;
    uint32_t next = 0;
    uint64_t hash = 0;
  };
  struct Candidate {
    uint32_t slot = 0;
    uint32_t same = kNone;  // the candidate before it that is interchangeable with it
    int64_t most = 0;       // pods that fit
    int64_t after = 0;      // the sum of `most` behind it
    int64_t taken = 0;
  };
  struct Frame {  // one run on its way over its candidates
    uint32_t task = 0;
    uint32_t run = 0;
    uint32_t scope = 0;
    int64_t count = 0;
    bool complete = false;         // all candidates are listed and summed
    uint32_t linked_from = kNone;  // `same` is known from this candidate on
    std::vector<Candidate> list;
    ShapeIndex::Cursor cursor;
    KeyMap last_of_key;
  };
  struct Device {
    uint32_t device = 0;
    uint32_t same = kNone;
    int64_t most = 0;
    int64_t after = 0;
    int64_t taken = 0;
  };
  struct Alternative {
    uint32_t slot = 0;     // of the domain or node
    uint32_t most = 0;     // domains of the preferred level; 0: no bound
    bool cramped = false;  // the group's minimum fits, but not all of it
    int64_t weight = 0;
    uint32_t rank = 0;
    friend auto operator<=>(const Alternative&, const Alternative&) = default;
  };
  struct Mark {
    Bins::Mark bins = 0;
    Scopes::Mark scopes;
    uint32_t tasks = 0;
    uint32_t frames = 0;
    uint32_t devices = 0;
    uint32_t alternatives = 0;
    uint32_t moves = 0;
    uint32_t units = 0;
    uint32_t entered = 0;
  };
  enum class ChoiceKind : uint8_t { kFailedState, kAlternative, kPick, kSpread, kSplit };
  struct Choice {
    ChoiceKind kind = ChoiceKind::kFailedState;
    Mark mark;
    uint32_t index = 0;     // task or frame
    uint32_t position = 0;  // candidate, device or alternative
    uint32_t candidate = 0;
    int64_t tried = 0;  // the number last chosen
    int64_t least = 0;
    int64_t left = 0;  // what was to be placed when the choice was made
    int64_t left_behind = 0;
    uint32_t stage = 0;
    bool abandoned = false;  // the allowance of what was tried ran out
    uint32_t soft_before = kNone;
    int64_t deadline = 0;
    uint64_t key = 0;
  };
  // One kind of alternatives: a domain of `level` (invalid: stay), with a bound on the domains of
  // the preferred level (`bounded`) or not.
  struct Stage {
    model::LevelIx level;
    model::LevelIx few;
    bool bounded = false;
    bool soft = false;
    bool last = false;
  };

  // --- Scratch of one call ---
  struct Priced {
    uint32_t domain_order = 0;
    int64_t cost = 0;
    uint32_t rank = 0;
    uint32_t slot = 0;
    int64_t most = 0;
    friend auto operator<=>(const Priced&, const Priced&) = default;
  };
  struct DomainCount {
    uint32_t domain = 0;
    uint32_t rank = 0;
    uint32_t order = kNone;
    int64_t most = 0;
    bool in_use = false;
  };
};

}  // namespace mainspring::placement
