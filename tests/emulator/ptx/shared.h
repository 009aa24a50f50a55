// Host twin of src/device/ptx/shared.h.
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
  emulator::shared_load(a, &r, 4);
  return r;
}
inline float load_shared_float(SharedAddress a) {
  float r;
  emulator::shared_load(a, &r, 4);
  return r;
}
inline Floats2 load_shared_float2(SharedAddress a) {
  Floats2 r;
  emulator::shared_load(a, &r, 8);
  return r;
}
inline Words4 load_shared_128(SharedAddress a) {
  Words4 r;
  emulator::shared_load(a, &r, 16);
  return r;
}
inline void store_shared_32(SharedAddress a, u32 v) { emulator::shared_store(a, &v, 4); }
inline void store_shared_float(SharedAddress a, float v) { emulator::shared_store(a, &v, 4); }
inline void store_shared_128(SharedAddress a, const Words4& v) { emulator::shared_store(a, &v, 16); }

}  // namespace speedlight::ptx
