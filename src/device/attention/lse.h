// The two bases of the log-sum-exp: natural for callers, 2 in the kernels. Scores in base 2 carry log2(e) as one float (in scale_log2, exactly so when
// the scale is a power of two), so the way back divides by that float: what is equal before is equal after, however large. And half a unit in the
// last place of an LSE of some thousands is felt in P, so each way rounds once.
#pragma once
#include "ptx/math.h"

namespace speedlight {

constexpr float log2_of_e = 1.44269504088896340736f;

// Natural logarithm of 2^reference * 2^log2_sum.
inline float natural_lse(float reference, float log2_sum) {
  constexpr double factor = 1 / double(log2_of_e);
  constexpr float high = float(factor), low = float(factor - double(high));
  return ptx::fma(reference, high, ptx::fma(reference, low, ptx::multiply(log2_sum, high)));
}
inline float base2_lse(float natural) { return ptx::multiply(natural, log2_of_e); }

}  // namespace speedlight
