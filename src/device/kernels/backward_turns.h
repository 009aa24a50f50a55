// Ordered adds to dQ: how the blocks of a launch take turns at a query tile. Which turn is whose: attention/dq_order.h.
#pragma once
#include "kernels/backward_context.h"

namespace speedlight::kernels {

// The turn of a block at one query tile, kept by one lane of the block; the other lanes hold one that does nothing.
//
// Memory order. A tile's counter says how many parts are in. After the adds of a tile, of all warps, comes a block barrier, then the lane's fence
// and its add to the counter: a release of all those adds. Before the adds the same lane has read the counter, before a fence or by an acquire,
// and then met the adding warps at a block barrier. So each part is ordered after the one before it. One fence serves both: the release of the
// tile before and, if the turn had come, the acquire of this one.
//
// Each step ends with a warp barrier: the block barriers that follow are for whole warps, and the compiler need not bring the lane back before.
template <BackwardConfig C, bool Ordered = C.ordered()>
class Turn {
 public:
  // The keeper is in another of the `warps` warps from `first_warp` on each tile.
  Turn(const BackwardContext<C>& at, const QueryWalk& walk, i32 first_warp, i32 warps)
      : at_(at), walk_(walk), keeps_(at.lane == 0 && at.warp == first_warp + walk.tile % warps) {
    if (keeps_) seen_ = ptx::load_relaxed_32(at.turn_counter(walk));
    ptx::sync_warp();
  }
  // Hands on the tile `done`, if there is one, and acquires what was seen.
  void pass_on(const QueryWalk& done, bool some_done) const {
    if (keeps_) {
      ptx::fence_device();
      if (some_done) ptx::add_relaxed_32(at_.turn_counter(done), 1);
    }
    ptx::sync_warp();
  }
  // After pass_on: waits where the turn had not come when the tile began.
  void await() const {
    if (keeps_ && !had_come()) at_.await_turn(walk_);
    ptx::sync_warp();
  }
  // After pass_on: leaves word whether it had.
  void report(ptx::SharedAddress to) const {
    if (keeps_) ptx::store_shared_32(to, had_come());
    ptx::sync_warp();
  }

 private:
  bool had_come() const { return seen_ == at_.turn(walk_); }

  const BackwardContext<C>& at_;
  const QueryWalk& walk_;
  bool keeps_;
  u32 seen_ = 0;
};

template <BackwardConfig C>
class Turn<C, false> {
 public:
  Turn(const BackwardContext<C>&, const QueryWalk&, i32, i32) {}
  void pass_on(const QueryWalk&, bool) const {}
  void await() const {}
  void report(ptx::SharedAddress) const {}
};

// After a block barrier that follows the adds of the last tile, by one lane.
template <BackwardConfig C>
inline void pass_on_last(const BackwardContext<C>& at, const QueryWalk& done) {
  ptx::fence_device();
  ptx::add_relaxed_32(at.turn_counter(done), 1);
}

}  // namespace speedlight::kernels
