// Host twin of src/device/ptx/warp.h.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline u32 shuffle_xor(u32 v, i32 lane_mask) { return emulator::shuffle_xor(v, lane_mask); }
inline float shuffle_xor(float v, i32 lane_mask) {
  return __builtin_bit_cast(float, emulator::shuffle_xor(__builtin_bit_cast(u32, v), lane_mask));
}
inline double shuffle_xor(double v, i32 lane_mask) {
  const u64 bits = __builtin_bit_cast(u64, v);
  const u32 lo = emulator::shuffle_xor(u32(bits), lane_mask), hi = emulator::shuffle_xor(u32(bits >> 32), lane_mask);
  return __builtin_bit_cast(double, u64(hi) << 32 | lo);
}
inline i32 broadcast(i32 v, i32 lane) { return i32(emulator::broadcast(u32(v), lane)); }
inline bool elected() { return lane_index() == 0; }
inline bool any(bool v) { return emulator::any(v); }

}  // namespace speedlight::ptx
