// Host twin of src/device/ptx/mma.h.
#pragma once
#include "config/spec.h"
#include "core/hooks.h"

namespace speedlight::ptx {

template <DType T>
inline void mma_16816(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  emulator::mma(T == DType::bf16, d, a, b0, b1);
}

}  // namespace speedlight::ptx
