// The two bases of the log-sum-exp: natural for callers, 2 in the kernels. Constants are sums of two floats: half a unit in the last place of an
// LSE of some thousands is felt in P, so each way rounds once.
#pragma once
#include "ptx/math.h"

namespace speedlight {

// Natural logarithm of 2^reference * 2^log2_sum.
inline float natural_lse(float reference, float log2_sum) {
  constexpr float high = 0x1.62e430p-1f, low = float(0.69314718055994530942 - double(high));
  return ptx::fma(reference, high, ptx::fma(reference, low, ptx::multiply(log2_sum, high)));
}
inline float base2_lse(float natural) {
  constexpr float high = 0x1.715476p+0f, low = float(1.44269504088896340736 - double(high));
  return ptx::fma(natural, high, ptx::multiply(natural, low));
}

}  // namespace speedlight
