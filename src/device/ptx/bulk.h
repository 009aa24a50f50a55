// Bulk copies (TMA): another proxy; completion is counted on an mbarrier. sm_90 on (Copy::bulk).
#pragma once
#include "config/params.h"
#include "ptx/thread.h"

namespace speedlight::ptx {

// One thread copies the map's box at (dim, row, head, batch) to shared memory; elements outside the tensor arrive as zeros.
// The map lies in the kernel's parameters (__grid_constant__). All bytes of the box count towards the barrier's transaction.
inline void bulk_tensor_4d(SharedAddress to, const TensorMap& map, i32 dim, i32 row, i32 head, i32 batch, SharedAddress barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3,%4,%5}], [%6];" ::"r"(to),
               "l"(&map), "r"(dim), "r"(row), "r"(head), "r"(batch), "r"(barrier)
               : "memory");
}
// One thread copies `bytes`, a multiple of 16, between 16-byte aligned addresses; they count towards the barrier's transaction.
inline void bulk_copy(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes),
               "r"(barrier)
               : "memory");
}
// Orders this thread's earlier plain shared accesses before later bulk copies (after a barrier among the threads concerned).
inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace speedlight::ptx
