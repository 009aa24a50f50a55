// The tensor ceiling: mma.sync with fragments in registers and no loads, for the benchmarks.
#pragma once
#include "config/spec.h"

namespace speedlight {

struct CeilingConfig {
  DType dtype = DType::bf16;
  constexpr bool operator==(const CeilingConfig&) const = default;
  static constexpr i32 threads() { return 128; }
  static constexpr i32 products() { return 64; }  // mma a warp and iteration: 2 * 16 * 8 * 16 floating-point operations each
};

struct CeilingParams {
  float* out;      // block_count floats
  i32 iterations;  // 0: an empty kernel
  u32 seed;
};

}  // namespace speedlight
