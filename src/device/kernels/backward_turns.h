// Ordered adds to dQ: how the blocks of a launch take turns at a query tile. Which turn is whose: attention/dq_order.h.
#pragma once
#include "kernels/backward_dq.h"

namespace speedlight::kernels {

// The turn of a block at one query tile, kept by two of its warps; the others hold one that does nothing.
//
// Memory order. A tile's counter says how many parts are in. After the adds of a tile all warps that add meet one warp, at a block barrier
// (single) or by an mbarrier (split: ds_free), and then come its fence and one lane's add to the counter: a release of all those adds. Before
// the adds another warp has read the counter by an acquire, and the adding warps have met that one, at a block barrier or by ds_full. So each
// part is ordered after the one before it. Each of the two steps costs its warp a way to the L2 and back, which is why it is not one warp
// that takes both; whole warps take them, so that no lane comes alone to the barriers that follow.
template <BackwardConfig C, bool Ordered = C.ordered()>
class Turn {
 public:
  // The two are others of the `warps` warps from `first_warp` on each tile.
  Turn(const BackwardContext<C>& at, const QueryWalk& walk, i32 first_warp, i32 warps)
      : at_(at), walk_(walk), first_warp_(first_warp), warps_(warps) {}
  // Hands on the tile `done`, if there is one, and looks whether this turn has come.
  void pass_on(const QueryWalk& done, bool some_done) {
    if (hands_on() && some_done) at_.hand_on(done);
    if (looks()) come_ = ptx::any(ptx::load_acquire_32(at_.turn_counter(walk_)) == at_.turn(walk_));
  }
  // After pass_on: waits where the turn had not come.
  void await() const {
    if (looks() && !come_) at_.await_turn(walk_);
  }
  // After pass_on: leaves word (TurnBits) for those who add.
  void report(ptx::SharedAddress to) const {
    if (!looks() || at_.lane != 0) return;
    const bool first = at_.turn(walk_) == 0, last = C.finishes() && at_.order().last(at_.block.key_tile, walk_.tile);
    ptx::store_shared_32(to, (come_ ? turn_come : 0u) | (first && last ? turn_only : first ? turn_first : last ? turn_completes : 0u));
  }

 private:
  bool hands_on() const { return at_.warp == first_warp_ + walk_.tile % warps_; }
  bool looks() const { return at_.warp == first_warp_ + (walk_.tile + 1) % warps_; }

  const BackwardContext<C>& at_;
  const QueryWalk& walk_;
  i32 first_warp_, warps_;
  bool come_ = false;
};

template <BackwardConfig C>
class Turn<C, false> {
 public:
  Turn(const BackwardContext<C>&, const QueryWalk&, i32, i32) {}
  void pass_on(const QueryWalk&, bool) {}
  void await() const {}
  void report(ptx::SharedAddress) const {}
};

}  // namespace speedlight::kernels
