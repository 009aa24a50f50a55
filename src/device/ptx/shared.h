// Plain loads and stores of shared memory; addresses are aligned to the access.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

struct alignas(16) Words4 {
  u32 x[4];
};
struct alignas(8) Floats2 {
  float x, y;
};

inline u32 load_shared_32(SharedAddress a) {
  u32 r;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r) : "r"(a) : "memory");
  return r;
}
inline float load_shared_float(SharedAddress a) {
  float r;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(r) : "r"(a) : "memory");
  return r;
}
inline Floats2 load_shared_float2(SharedAddress a) {
  Floats2 r;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(r.x), "=f"(r.y) : "r"(a) : "memory");
  return r;
}
inline Words4 load_shared_128(SharedAddress a) {
  Words4 r;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r.x[0]), "=r"(r.x[1]), "=r"(r.x[2]), "=r"(r.x[3]) : "r"(a) : "memory");
  return r;
}
inline void store_shared_32(SharedAddress a, u32 v) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(a), "r"(v) : "memory"); }
inline void store_shared_float(SharedAddress a, float v) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(a), "f"(v) : "memory"); }
inline void store_shared_128(SharedAddress a, const Words4& v) {
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(v.x[0]), "r"(v.x[1]), "r"(v.x[2]), "r"(v.x[3]) : "memory");
}

}  // namespace speedlight::ptx
