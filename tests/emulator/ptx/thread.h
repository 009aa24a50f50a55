// Host twin of src/device/ptx/thread.h.
#pragma once
#include "core/hooks.h"

namespace speedlight::ptx {

using SharedAddress = u32;

inline i32 thread_index() { return emulator::running->thread; }
inline u32 block_index() { return emulator::running->block; }
inline u32 block_count() { return emulator::running->blocks; }
inline i32 lane_index() { return emulator::running->lane; }
inline SharedAddress dynamic_shared() { return emulator::shared_base; }

}  // namespace speedlight::ptx
