// Host twin of src/device/ptx/global.h.
#pragma once
#include "ptx/shared.h"

namespace speedlight::ptx {

inline u16 load_global_16(const void* p) {
  u16 r;
  emulator::global_load(p, &r, 2);
  return r;
}
inline u32 load_global_32(const void* p) {
  u32 r;
  emulator::global_load(p, &r, 4);
  return r;
}
inline float load_global_float(const float* p) {
  float r;
  emulator::global_load(p, &r, 4);
  return r;
}
inline Words4 load_global_128(const void* p) {
  Words4 r;
  emulator::global_load(p, &r, 16);
  return r;
}
inline double load_global_double(const double* p) {
  double r;
  emulator::global_load(p, &r, 8);
  return r;
}
inline void store_global_16(void* p, u16 v) { emulator::global_store(p, &v, 2); }
inline void store_global_32(void* p, u32 v) { emulator::global_store(p, &v, 4); }
inline void store_global_float(float* p, float v) { emulator::global_store(p, &v, 4); }
inline void store_global_64(void* p, u32 lo, u32 hi) {
  const u32 words[2] = {lo, hi};
  emulator::global_store(p, words, 8);
}
inline void store_global_128(void* p, const Words4& v) { emulator::global_store(p, &v, 16); }
inline void store_global_double(double* p, double v) { emulator::global_store(p, &v, 8); }

inline void add_global_float(float* p, float v) { emulator::global_add(p, &v, 1); }
inline void add_global_float4(float* p, const float (&v)[4]) { emulator::global_add(p, v, 4); }
inline void add_global_double(double* p, double v) { emulator::global_add(p, v); }

inline u32 load_acquire_32(const u32* p) { return emulator::flag_load(p); }
inline void fence_device() { emulator::fence_device(); }
inline u32 add_relaxed_32(u32* p, u32 v) { return emulator::flag_add(p, v); }
inline void wait_acquire_32(const u32* p, u32 value) { emulator::flag_wait(p, value); }

}  // namespace speedlight::ptx
