// Loads, stores and adds of global memory. Kernels touch global memory only through this file, cp_async.h and bulk.h.
#pragma once
#include "ptx/shared.h"

namespace speedlight::ptx {

inline u16 load_global_16(const void* p) {
  u16 r;
  asm volatile("ld.global.b16 %0, [%1];" : "=h"(r) : "l"(p) : "memory");
  return r;
}
inline u32 load_global_32(const void* p) {
  u32 r;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  return r;
}
inline float load_global_float(const float* p) {
  float r;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(r) : "l"(p) : "memory");
  return r;
}
inline Words4 load_global_128(const void* p) {
  Words4 r;
  asm volatile("ld.global.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r.x[0]), "=r"(r.x[1]), "=r"(r.x[2]), "=r"(r.x[3]) : "l"(p) : "memory");
  return r;
}
inline double load_global_double(const double* p) {
  double r;
  asm volatile("ld.global.f64 %0, [%1];" : "=d"(r) : "l"(p) : "memory");
  return r;
}
inline void store_global_16(void* p, u16 v) { asm volatile("st.global.b16 [%0], %1;" ::"l"(p), "h"(v) : "memory"); }
inline void store_global_32(void* p, u32 v) { asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
inline void store_global_64(void* p, u32 lo, u32 hi) {
  asm volatile("st.global.v2.b32 [%0], {%1,%2};" ::"l"(p), "r"(lo), "r"(hi) : "memory");
}
inline void store_global_float(float* p, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }
inline void store_global_128(void* p, const Words4& v) {
  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x[0]), "r"(v.x[1]), "r"(v.x[2]), "r"(v.x[3]) : "memory");
}
inline void store_global_double(double* p, double v) { asm volatile("st.global.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory"); }

// Relaxed adds without a result; the order of adds to one address is not defined.
inline void add_global_float(float* p, float v) { asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }
// sm_90 on (VectorAdd::v4); 16-byte aligned.
inline void add_global_float4(float* p, const float (&v)[4]) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(p), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
}
inline void add_global_double(double* p, double v) { asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory"); }

// Flags, by which blocks of a launch wait for one another. A relaxed add after a fence releases what this thread has seen, other threads' writes
// before a block barrier included; a load that acquires sees what was released by the adds that made its value.
inline void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
inline u32 load_acquire_32(const u32* p) {
  u32 r;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  return r;
}
// Returns what was there before.
inline u32 add_relaxed_32(u32* p, u32 v) {
  u32 r;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
  return r;
}
// Waits until the flag has the value, and acquires.
inline void wait_acquire_32(const u32* p, u32 value) {
  while (load_acquire_32(p) != value) {}
}

}  // namespace speedlight::ptx
