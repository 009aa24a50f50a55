// Random numbers for the inputs, the same on every machine, with the values at which arithmetic changes its mind among them.
#pragma once
#include "base/types.h"

namespace speedlight::conformance {

class Inputs {
 public:
  explicit Inputs(u64 seed) : state_(seed) {}

  u64 bits64();
  u32 bits() { return u32(bits64() >> 32); }
  i32 below(i32 limit) { return i32(bits() % u32(limit)); }
  float uniform(float low, float high);
  float special();  // zeros, subnormals, infinities, NaNs, limits and ties of the 16-bit formats
  float any();      // a third each: special, any bits, a sensible magnitude
  double any_double();
  u16 element(bool bf16, i32 kind);  // an mma operand; see mma_kinds

 private:
  u64 state_;
};

// uniform, subnormal, large, cancelling (the caller pairs them), with infinities and NaNs, any exponent, zeros, tiny beside a large C.
constexpr i32 mma_kinds = 8;

}  // namespace speedlight::conformance
