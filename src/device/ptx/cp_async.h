// cp.async: 16 bytes from global to shared memory. Visible to the issuing thread after its wait, to others only after a barrier.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

// `valid` false writes zeros and reads nothing (the pointer need not be readable).
inline void cp_async_16(SharedAddress to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `Pending` of this thread's committed groups are still under way.
template <int Pending>
inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace speedlight::ptx
