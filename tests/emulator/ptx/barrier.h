// Host twin of src/device/ptx/barrier.h.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void sync_block() { emulator::sync_block(); }
inline void sync_named(i32 barrier, i32 threads) { emulator::sync_named(barrier, threads); }
inline void arrive_named(i32 barrier, i32 threads) { emulator::arrive_named(barrier, threads); }
inline void sync_warp() { emulator::sync_warp(); }

}  // namespace speedlight::ptx
