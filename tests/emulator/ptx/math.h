// Host twin of src/device/ptx/math.h.
#pragma once
#include "config/spec.h"
#include "core/hooks.h"

namespace speedlight::emulator {

// Float arithmetic of the GPU gives one NaN, whatever went in.
inline float one_nan(float x) { return x == x ? x : __builtin_bit_cast(float, 0x7fffffffu); }

}  // namespace speedlight::emulator

namespace speedlight::ptx {

constexpr float infinity() { return __builtin_inff(); }

inline float exp2(float x) {
  const float y = __builtin_exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;  // subnormal results are flushed; NaN stays
}
inline float log2(float x) { return __builtin_log2f(x); }
// A subnormal operand counts as zero, a subnormal result becomes zero; the sign stays.
inline float reciprocal(float x) {
  const float y = 1.0f / (__builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x);
  return __builtin_fabsf(y) < 0x1p-126f ? __builtin_copysignf(0.0f, y) : y;
}
inline float fma(float a, float b, float c) { return emulator::one_nan(__builtin_fmaf(a, b, c)); }
inline float multiply(float a, float b) { return emulator::one_nan(a * b); }  // compiled with -ffp-contract=off
inline float subtract(float a, float b) { return emulator::one_nan(a - b); }
// The larger; a NaN loses against a number; +0 is larger than -0.
inline float maximum(float a, float b) {
  if (a != a) return emulator::one_nan(b);
  if (b != b || a > b) return a;
  return a == b && __builtin_signbit(b) ? a : b;
}
inline float minimum(float a, float b) {
  if (a != a) return emulator::one_nan(b);
  if (b != b || a < b) return a;
  return a == b && __builtin_signbit(a) ? a : b;
}
inline u32 shift_left(u32 x, u32 count) { return count < 32 ? x << count : 0; }
inline double exp(double x) { return __builtin_exp(x); }
inline double log(double x) { return __builtin_log(x); }

template <DType T>
inline u32 pack(float lo, float hi) {
  if constexpr (T == DType::bf16)
    return u32(emulator::bfloat_from_float(hi)) << 16 | emulator::bfloat_from_float(lo);
  else
    return u32(emulator::half_from_float(hi)) << 16 | emulator::half_from_float(lo);
}
template <DType T>
inline float unpack_lo(u32 v) {
  if constexpr (T == DType::bf16)
    return emulator::float_from_bfloat(u16(v));
  else
    return emulator::one_nan(emulator::float_from_half(u16(v)));
}
template <DType T>
inline float unpack_hi(u32 v) {
  if constexpr (T == DType::bf16)
    return emulator::float_from_bfloat(u16(v >> 16));
  else
    return emulator::one_nan(emulator::float_from_half(u16(v >> 16)));
}
inline u32 bits(float x) { return __builtin_bit_cast(u32, x); }
inline float from_bits(u32 x) { return __builtin_bit_cast(float, x); }

}  // namespace speedlight::ptx
