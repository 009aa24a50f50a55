// Host twin of src/device/ptx/mbarrier.h.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void mbarrier_init(SharedAddress barrier, u32 arrivals) { emulator::mbarrier_init(barrier, arrivals); }
inline void mbarrier_fence_init() { emulator::mbarrier_fence_init(); }
inline void mbarrier_arrive(SharedAddress barrier) { emulator::mbarrier_arrive(barrier); }
inline void mbarrier_arrive_if(SharedAddress barrier, bool really) {
  if (really) emulator::mbarrier_arrive(barrier);
}
inline void mbarrier_arrive_expect(SharedAddress barrier, u32 bytes) { emulator::mbarrier_arrive_expect(barrier, bytes); }
inline void mbarrier_wait(SharedAddress barrier, u32 parity) { emulator::mbarrier_wait(barrier, parity); }

}  // namespace speedlight::ptx
