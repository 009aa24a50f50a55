// Arithmetic and conversions that must be one known instruction.
#pragma once
#include "config/spec.h"

namespace speedlight::ptx {

constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }

// 2^x, within 2 ulp; subnormal results are flushed to 0; exp2(-inf) = 0, exp2(+inf) = +inf.
inline float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float log2(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Within 1 ulp for normal x.
inline float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// One rounding (fused) and two roundings; neither is re-associated by the compiler.
inline float fma(float a, float b, float c) {
  float y;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(a), "f"(b), "f"(c));
  return y;
}
inline float multiply(float a, float b) {
  float y;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
inline float subtract(float a, float b) {
  float y;
  asm("sub.rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
// The larger; a NaN loses against a number.
inline float maximum(float a, float b) {
  float y;
  asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
inline float minimum(float a, float b) {
  float y;
  asm("min.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
inline double exp(double x) { return ::exp(x); }
inline double log(double x) { return ::log(x); }

// x << count; 0 for counts of 32 and more.
inline u32 shift_left(u32 x, u32 count) {
  u32 y;
  asm("shl.b32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(count));
  return y;
}

// Two 16-bit floats in a word, `lo` in the low half; round to nearest even.
template <DType T>
inline u32 pack(float lo, float hi) {
  u32 r;
  if constexpr (T == DType::bf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
template <DType T>
inline float unpack_lo(u32 v) {
  float r;
  if constexpr (T == DType::bf16)
    asm("shl.b32 %0, %1, 16;" : "=f"(r) : "r"(v));
  else
    asm("{\n.reg .b16 lo, hi;\nmov.b32 {lo,hi}, %1;\ncvt.f32.f16 %0, lo;\n}" : "=f"(r) : "r"(v));
  return r;
}
template <DType T>
inline float unpack_hi(u32 v) {
  float r;
  if constexpr (T == DType::bf16)
    asm("and.b32 %0, %1, 0xffff0000;" : "=f"(r) : "r"(v));
  else
    asm("{\n.reg .b16 lo, hi;\nmov.b32 {lo,hi}, %1;\ncvt.f32.f16 %0, hi;\n}" : "=f"(r) : "r"(v));
  return r;
}
inline u32 bits(float x) { return __float_as_uint(x); }
inline float from_bits(u32 x) { return __uint_as_float(x); }

}  // namespace speedlight::ptx
