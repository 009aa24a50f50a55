// A ring of shared memory stages through which a block's tiles stream, by bulk copies or by cp.async, behind one interface:
//
//   start(...)       all threads; the first entries are under way; the caller then synchronises the block
//   for entry in [0, entries):
//     stage = wait(entry)  all threads; the entry's data are there
//     refill(entry, ...)   all threads, once, anywhere before release: loads a later entry into a stage that has been left; `entries()` is asked
//                          only by those who need it
//     release(entry)       all threads; no more reads of this stage
//
// Stage and phase are worked out from the entry: registers are worth more than a few integer instructions a stage.
// `load(entry, stage, barrier)` loads one entry: for bulk copies one thread calls it, and it arrives at the barrier, with the bytes to wait for; for
// cp.async all do.
#pragma once
#include "config/spec.h"
#include "ptx/barrier.h"
#include "ptx/cp_async.h"
#include "ptx/mbarrier.h"
#include "ptx/warp.h"

namespace speedlight::tile {

template <Copy How, i32 Stages, i32 StageBytes, i32 Warps>
class Ring;

// One full and one empty mbarrier a stage; the warps take turns as producer.
template <i32 Stages, i32 StageBytes, i32 Warps>
class Ring<Copy::bulk, Stages, StageBytes, Warps> {
 public:
  template <class Load>
  void start(ptx::SharedAddress memory, ptx::SharedAddress full, ptx::SharedAddress empty, i32 entries, bool first_warp, Load load) {
    memory_ = memory;
    full_ = full;
    empty_ = empty;
    if (!first_warp || !ptx::elected()) return;
#pragma unroll 1
    for (i32 i = 0; i < Stages; ++i) {
      ptx::mbarrier_init(full + u32(8 * i), 1);
      ptx::mbarrier_init(empty + u32(8 * i), Warps);
    }
    ptx::mbarrier_fence_init();
#pragma unroll 1
    for (i32 i = 0; i < Stages && i < entries; ++i) fill(i, load);
  }

  ptx::SharedAddress wait(i32 entry) {
    ptx::mbarrier_wait(full_ + u32(8 * stage_of(entry)), phase_of(entry));
    return memory_ + u32(stage_of(entry) * StageBytes);
  }

  // The stage left in the previous step gets the entry that comes Stages after it, as soon as all warps have left it.
  template <class Entries, class Load>
  void refill(i32 entry, Entries entries, bool my_turn, Load load) {
    if (entry == 0 || !my_turn || !ptx::any(entry - 1 + Stages < entries())) return;
    if (ptx::elected()) {
      ptx::mbarrier_wait(empty_ + u32(8 * stage_of(entry - 1)), phase_of(entry - 1));
      fill(entry - 1 + Stages, load);
    }
    ptx::sync_warp();
  }

  void release(i32 entry) {
    ptx::sync_warp();  // every lane's reads come before the arrival of one
    ptx::mbarrier_arrive_if(empty_ + u32(8 * stage_of(entry)), ptx::elected());
  }

 private:
  static i32 stage_of(i32 entry) { return i32(u32(entry) % Stages); }
  static u32 phase_of(i32 entry) { return u32(entry) / Stages & 1; }
  template <class Load>
  void fill(i32 entry, Load load) {
    load(entry, memory_ + u32(stage_of(entry) * StageBytes), full_ + u32(8 * stage_of(entry)));
  }

  ptx::SharedAddress memory_, full_, empty_;
};

// Every thread copies its part of each entry. The block barrier in wait() makes the others' parts visible, and says that all have left the
// stage before.
template <i32 Stages, i32 StageBytes, i32 Warps>
class Ring<Copy::cp_async, Stages, StageBytes, Warps> {
 public:
  template <class Load>
  void start(ptx::SharedAddress memory, ptx::SharedAddress, ptx::SharedAddress, i32 entries, bool, Load load) {
    memory_ = memory;
#pragma unroll 1
    for (i32 i = 0; i < Stages - 1; ++i) {
      if (i < entries) load(i, memory_ + u32(i * StageBytes), 0);
      ptx::cp_async_commit();
    }
  }

  ptx::SharedAddress wait(i32 entry) {
    ptx::cp_async_wait<Stages - 2>();
    ptx::sync_block();
    return memory_ + u32(i32(u32(entry) % Stages) * StageBytes);
  }

  template <class Entries, class Load>
  void refill(i32 entry, Entries entries, bool, Load load) {
    const i32 next = entry + Stages - 1;
    if (next < entries()) load(next, memory_ + u32(i32(u32(next) % Stages) * StageBytes), 0);
    ptx::cp_async_commit();  // also when empty: wait() counts one group an entry
  }

  void release(i32) {}

 private:
  ptx::SharedAddress memory_;
};

}  // namespace speedlight::tile
