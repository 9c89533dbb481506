// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/placement/bins.h"
#include "mainspring/placement/job_demand.h"
#include "mainspring/placement/key_set.h"
#include "mainspring/placement/scopes.h"
#include "mainspring/placement/search_stack.h"
#include "mainspring/placement/shape_index.h"

// The search for a gang's places: chronological backtracking over one sequence of decisions.
//
// A group with a required level chooses a domain, then which of its children run, then each child
// in turn, heaviest first; a run of identical pods walks over its candidate nodes, best first, and
// decides for each how many it takes. Every choice that could lead to another outcome is reachable,
// so "no" is exact unless the bound of steps ended the search. What keeps it short: sums over
// domains and candidates as bounds; interchangeable nodes, devices and siblings taken in one order
// only; and states that failed once, recognised by hash, are not entered again.
//
// Preferred levels are soft: narrower or fewer domains are tried first, each with an allowance of
// steps, and the last alternative is always the group without the wish.
//
// It keeps its own stack, so that its depth is bounded by memory and not by the thread's stack.

namespace mainspring::placement {

struct SearchLimits {
  int64_t steps_max = 50'000;    // choices beyond the first descent
  int64_t steps_per_wish = 500;  // of these, for one alternative that a preferred level offers
};

enum class SearchEnd : uint8_t { kFound, kImpossible, kCutShort };

class Backtrack : private SearchStack {
 public:
  // `pods` pods of the run on one node, and how many of them are on each of its devices.
  struct Move {
    uint32_t run = 0;
    uint32_t node = 0;
    uint32_t pods = 0;
    uint32_t first_unit = 0;
    uint32_t unit_count = 0;
  };
  struct Unit {
    uint32_t device = 0;
    uint32_t pods = 0;
  };
  struct Entered {
    uint32_t group = 0;
    uint32_t scope = 0;
  };

  Backtrack(const Scorer& scorer, ShapeIndex& index) : scorer_(scorer), index_(index) {}

  // Starts over with an inventory and a job; both stay as they are until the next call.
  void begin(const model::Inventory& inventory, const JobDemand& demand);
  // Adds what the group still needs to what was found so far; on anything but kFound nothing is
  // added. `wishes`: whether preferred levels are tried, or only order the nodes.
  SearchEnd find(uint32_t group, uint32_t scope, bool wishes, const SearchLimits& limits);
  // Adds up to `count` pods of the run, as they come; returns how many.
  uint32_t fill(uint32_t run, uint32_t scope, uint32_t count);
  void ignore_bounds() { scopes_.ignore_bounds(true); }

  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  [[nodiscard]] std::span<const Unit> units(const Move& move) const {
    return std::span(units_).subspan(move.first_unit, move.unit_count);
  }
  // The groups that were entered, with the scopes of their children.
  [[nodiscard]] std::span<const Entered> entered() const { return entered_; }
  // The scope of a group's children, given the scope it lies in: what its placed pods fix.
  uint32_t fixed_scope(uint32_t group, uint32_t scope);
  // The same, for a group that has its minimum without any pod that is placed (they are done): it
  // grows where there is most room. kNone where nothing is.
  uint32_t growth_scope(uint32_t group, uint32_t scope);
  // The first group or run at which the search had to turn back.
  [[nodiscard]] uint32_t culprit_group() const { return culprit_group_; }
  [[nodiscard]] uint32_t culprit_run() const { return culprit_run_; }
  [[nodiscard]] int64_t steps() const { return steps_; }

 private:
  // --- The loop (backtrack.cc) ---
  [[nodiscard]] Mark mark() const;
  void restore(const Mark& mark);
  uint32_t push_task(TaskKind kind, uint32_t index, uint32_t from, uint32_t count, uint32_t scope,
                     uint32_t next);
  bool run_to_end();
  bool step();
  bool turn_back();
  bool advance();
  void pop_choice();
  Choice& push_choice(ChoiceKind kind);
  // False when this task is known to fail in this state.
  bool watch(const Task& task);
  [[nodiscard]] uint64_t state_key(const Task& task) const;
  void note_failure(const Task& task);

  // --- Groups (backtrack_groups.cc) ---
  bool enter_group(uint32_t task);
  bool enter_wish(uint32_t task);
  bool enter_pick(uint32_t task);
  bool pick(uint32_t task, int64_t count);
  bool enter_members(uint32_t task);
  [[nodiscard]] Stage stage_of(const Task& task, uint32_t number) const;
  [[nodiscard]] bool narrower(model::LevelIx level, model::LevelIx wide) const;
  bool open_stages(uint32_t task);
  bool next_alternative();
  bool apply_alternative(const Task& task, const Stage& stage, const Alternative& alternative);
  void list_alternatives(const Task& task, const Stage& stage);
  static bool comes_first(const Alternative& left, const Alternative& right);
  void open_held(uint32_t group, uint32_t scope);
  [[nodiscard]] int64_t weight_of(const model::Free& free, const Demand& demand) const;

  // --- Bounds and likenesses (backtrack_bounds.cc) ---
  [[nodiscard]] std::span<const uint32_t> nodes_of(model::LevelIx level,
                                                   const uint32_t& slot) const;
  [[nodiscard]] int64_t fits(uint32_t run, std::span<const uint32_t> nodes, uint32_t scope,
                             int64_t enough) const;
  [[nodiscard]] int64_t members_that_fit(const GroupDemand& group, int64_t count, uint32_t scope,
                                         model::LevelIx level, uint32_t slot) const;
  static int64_t forced_of(const GroupDemand& group, const Item& item);
  [[nodiscard]] uint64_t likeness(model::LevelIx level, uint32_t slot, uint32_t scope) const;
  void skip_likes(Choice& choice, const Stage& stage);
  bool hopeless(const Task& task);
  [[nodiscard]] bool fits_alone(uint32_t group, uint32_t run,
                                std::span<const uint32_t> nodes) const;
  bool fewest_of(int64_t wanted, uint32_t& fewest);
  bool sum_members(const Item& item, int64_t forced, model::LevelIx few, uint32_t scope);
  uint32_t fewest_domains(const Task& task, model::LevelIx few, uint32_t scope);

  // --- Runs (backtrack_runs.cc) ---
  bool enter_run(uint32_t task);
  uint32_t open_frame(uint32_t task, uint32_t run, uint32_t scope, int64_t count);
  void gather(Frame& frame);
  void order_by_domain(Frame& frame, uint32_t counting);
  void sum_up(Frame& frame);
  bool list_until(Frame& frame, uint32_t candidate);
  void link(Frame& frame, uint32_t from);
  bool spread(uint32_t frame, uint32_t candidate, int64_t left);
  bool advance_spread();
  bool put(uint32_t frame, uint32_t candidate, int64_t pods, int64_t left_behind);
  bool split(uint32_t frame, uint32_t candidate, uint32_t device, int64_t units,
             int64_t left_behind);
  bool advance_split();
  uint32_t list_devices(const Frame& frame, uint32_t node_slot, int64_t pods);
  static bool alike(const model::Gpu& left, const model::Gpu& right);
  [[nodiscard]] bool ruled(uint32_t run) const;
  // Whether the rules among pods let one of the run onto the node as things stand.
  [[nodiscard]] bool admitted(uint32_t run, uint32_t node_slot) const;
  uint32_t fill_once(uint32_t run, uint32_t scope, uint32_t count);
  void take_device(const Frame& frame, uint32_t node_slot, uint32_t device, int64_t units);

  const Scorer& scorer_;
  ShapeIndex& index_;
  const model::Inventory* inventory_ = nullptr;
  const JobDemand* demand_ = nullptr;
  Bins bins_;
  model::RuleView rules_;
  Scopes scopes_;
  KeySet failed_;
  std::vector<Task> tasks_;
  std::vector<Frame> frames_;
  uint32_t frame_count_ = 0;
  std::vector<Device> devices_;
  std::vector<Alternative> alternatives_;
  std::vector<Move> moves_;
  std::vector<Unit> units_;
  std::vector<Entered> entered_;
  std::vector<Choice> choices_;
  uint32_t current_ = 0;   // task
  uint32_t soft_ = kNone;  // the innermost choice of a wish
  SearchLimits limits_;
  bool wishes_ = true;
  bool turned_back_ = false;
  bool cut_ = false;
  int64_t steps_ = 0;
  uint32_t culprit_group_ = kNone;
  uint32_t culprit_run_ = kNone;
  std::vector<uint32_t> named_;
  std::vector<model::ShapeIx> shapes_;
  std::vector<uint8_t> asked_runs_;
  std::vector<uint8_t> asked_groups_;
  // Scratch of one call, kept for its capacity.
  std::vector<uint32_t> slots_;
  std::vector<int64_t> costs_;
  std::vector<int64_t> most_;
  std::vector<Priced> priced_;
  std::vector<DomainCount> counts_;
  std::vector<uint32_t> domain_list_;
  std::vector<uint32_t> choosable_;
  std::vector<int64_t> sums_;
  std::vector<int64_t> sum_of_domain_;
};

}  // namespace mainspring::placement
