// A ring of shared memory stages through which a block's tiles stream, by bulk copies or by cp.async, behind one interface:
//
//   start(...)       all threads; the first entries are under way; the caller then synchronises the block
//   for entry in [0, entries):
//     stage = wait()   all threads; the entry's data are there
//     refill(entry)    all threads, once, anywhere before release: loads a later entry into a stage that has been left; `entries()` is asked
//                      only by those who need it
//     release()        all threads; no more reads of this stage
//
// `load(entry, stage, barrier)` loads one entry: for bulk copies one thread calls it and its bytes count on the barrier; for cp.async all do.
#pragma once
#include "config/spec.h"
#include "ptx/barrier.h"
#include "ptx/cp_async.h"
#include "ptx/mbarrier.h"

namespace speedlight::tile {

template <Copy How, i32 Stages, i32 StageBytes, i32 Warps>
class Ring;

// One full and one empty mbarrier a stage; the warps take turns as producer.
template <i32 Stages, i32 StageBytes, i32 Warps>
class Ring<Copy::bulk, Stages, StageBytes, Warps> {
 public:
  template <class Load>
  void start(ptx::SharedAddress memory, ptx::SharedAddress full, ptx::SharedAddress empty, i32 entries, bool first_thread, Load load) {
    memory_ = memory;
    full_ = full;
    empty_ = empty;
    if (!first_thread) return;
#pragma unroll 1
    for (i32 i = 0; i < Stages; ++i) {
      ptx::mbarrier_init(full + u32(8 * i), 1);
      ptx::mbarrier_init(empty + u32(8 * i), Warps);
    }
    ptx::mbarrier_fence_init();
#pragma unroll 1
    for (i32 i = 0; i < Stages && i < entries; ++i) fill(i, i, load);
  }

  ptx::SharedAddress wait() {
    ptx::mbarrier_wait(full_ + u32(8 * stage_), phase_);
    return memory_ + u32(stage_ * StageBytes);
  }

  // The stage left in the previous step gets the entry that comes Stages after it, as soon as all warps have left it.
  template <class Entries, class Load>
  void refill(i32 entry, Entries entries, i32 warp, bool lead, Load load) {
    if (warp != entry % Warps || entry == 0 || entry - 1 + Stages >= entries()) return;
    const bool wrapped = stage_ == 0;
    const i32 left = wrapped ? Stages - 1 : stage_ - 1;
    if (lead) {
      ptx::mbarrier_wait(empty_ + u32(8 * left), wrapped ? phase_ ^ 1 : phase_);
      fill(entry - 1 + Stages, left, load);
    }
    ptx::sync_warp();
  }

  void release(bool lead) {
    ptx::sync_warp();  // every lane's reads come before the arrival of one
    ptx::mbarrier_arrive_if(empty_ + u32(8 * stage_), lead);
    if (++stage_ == Stages) {
      stage_ = 0;
      phase_ ^= 1;
    }
  }

 private:
  template <class Load>
  void fill(i32 entry, i32 stage, Load load) {
    const ptx::SharedAddress barrier = full_ + u32(8 * stage);
    ptx::mbarrier_arrive_expect(barrier, StageBytes);
    load(entry, memory_ + u32(stage * StageBytes), barrier);
  }

  ptx::SharedAddress memory_, full_, empty_;
  i32 stage_ = 0;
  u32 phase_ = 0;
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

  ptx::SharedAddress wait() {
    ptx::cp_async_wait<Stages - 2>();
    ptx::sync_block();
    return memory_ + u32(stage_ * StageBytes);
  }

  template <class Entries, class Load>
  void refill(i32 entry, Entries entries, i32, bool, Load load) {
    const i32 left = stage_ == 0 ? Stages - 1 : stage_ - 1;
    if (entry + Stages - 1 < entries()) load(entry + Stages - 1, memory_ + u32(left * StageBytes), 0);
    ptx::cp_async_commit();  // also when empty: wait() counts one group an entry
  }

  void release(bool) {
    if (++stage_ == Stages) stage_ = 0;
  }

 private:
  ptx::SharedAddress memory_;
  i32 stage_ = 0;
};

}  // namespace speedlight::tile
