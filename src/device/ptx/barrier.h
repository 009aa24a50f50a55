// Barriers of a block, of part of it, of a warp: the only things that order memory between threads (with mbarriers).
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void sync_block() { asm volatile("bar.sync 0;" ::: "memory"); }
// Named barriers 1 to 15; `threads` counts all that sync or arrive, a multiple of 32. Warps may come from different places of the code.
inline void sync_named(i32 barrier, i32 threads) { asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }
inline void arrive_named(i32 barrier, i32 threads) { asm volatile("barrier.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }
inline void sync_warp() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

}  // namespace speedlight::ptx
