// mbarrier in shared memory (8 bytes, 8-byte aligned): phases with arrivals and transaction bytes. sm_90 on here (try_wait, expect_tx).
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void mbarrier_init(SharedAddress barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes the inits of this thread visible to the bulk copies and, after a block barrier, to the block.
inline void mbarrier_fence_init() { asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory"); }
inline void mbarrier_arrive(SharedAddress barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
// The same for threads where `really` holds, without a branch.
inline void mbarrier_arrive_if(SharedAddress barrier, bool really) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(barrier), "r"(i32(really))
               : "memory");
}
// One arrival that also tells the phase to wait for `bytes` of bulk copies.
inline void mbarrier_arrive_expect(SharedAddress barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits until the phase of this parity has completed.
inline void mbarrier_wait(SharedAddress barrier, u32 parity) {
  asm volatile("{\n.reg .pred p;\nWAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra WAIT_%=;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

}  // namespace speedlight::ptx
