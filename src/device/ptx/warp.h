// Values exchanged within a warp; every lane takes part. They order no memory.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline u32 shuffle_xor(u32 v, i32 lane_mask) {
  u32 r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(lane_mask));
  return r;
}
inline float shuffle_xor(float v, i32 lane_mask) {
  float r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(v), "r"(lane_mask));
  return r;
}
inline double shuffle_xor(double v, i32 lane_mask) {
  u32 lo, hi;
  asm("mov.b64 {%0,%1}, %2;" : "=r"(lo), "=r"(hi) : "d"(v));
  lo = shuffle_xor(lo, lane_mask);
  hi = shuffle_xor(hi, lane_mask);
  double r;
  asm("mov.b64 %0, {%1,%2};" : "=d"(r) : "r"(lo), "r"(hi));
  return r;
}
// The value of one lane, for all; the compiler then knows that it is the same in the whole warp.
inline i32 broadcast(i32 v, i32 lane) {
  i32 r;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(lane));
  return r;
}
// True in one lane, the same one each time; the compiler knows that it is alone. sm_90 on.
inline bool elected() {
  i32 r;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.s32 %0, 1, 0, p;\n}" : "=r"(r));
  return r != 0;
}
// True in every lane or in none; the compiler knows that too.
inline bool any(bool v) {
  i32 r;
  asm volatile("{\n.reg .pred p, q;\nsetp.ne.s32 p, %1, 0;\nvote.sync.any.pred q, p, 0xffffffff;\nselp.s32 %0, 1, 0, q;\n}"
               : "=r"(r)
               : "r"(i32(v)));
  return r != 0;
}

}  // namespace speedlight::ptx
