// fp16 and bf16 to float and back: round to nearest even, bit exact, subnormals, infinities and NaN included.
#pragma once
#include <bit>
#include <cstring>
#include "config/spec.h"

namespace speedlight {

constexpr float fp16_to_float(u16 bits) {
  const u32 sign = u32(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | mantissa << 13);
  const float magnitude = float(mantissa) * 0x1p-24f;  // zero or subnormal: exact in float
  return std::bit_cast<float>(sign | std::bit_cast<u32>(magnitude));
}

constexpr u16 float_to_fp16(float value) {
  const u32 bits = std::bit_cast<u32>(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return u16(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));  // NaN, made quiet
  if (magnitude >= 0x477ff000u) return u16(sign | 0x7c00u);                              // 65520 and above round to infinity
  if (magnitude < 0x38800000u)  // below 2^-14: the float add rounds at 2^-24, the step of fp16 subnormals
    return u16(sign | (std::bit_cast<u32>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u));
  return u16(sign | (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
}

constexpr float bf16_to_float(u16 bits) { return std::bit_cast<float>(u32(bits) << 16); }

constexpr u16 float_to_bf16(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return u16(bits >> 16 | 0x40u);  // NaN, made quiet
  return u16((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Element `index` of an array of `dtype`; the array may have any alignment.
inline float read_element(const void* data, i64 index, DType dtype) {
  if (dtype == DType::fp32) {
    float value;
    std::memcpy(&value, static_cast<const char*>(data) + index * 4, 4);
    return value;
  }
  u16 bits;
  std::memcpy(&bits, static_cast<const char*>(data) + index * 2, 2);
  return dtype == DType::fp16 ? fp16_to_float(bits) : bf16_to_float(bits);
}

inline void write_element(void* data, i64 index, DType dtype, float value) {
  if (dtype == DType::fp32) {
    std::memcpy(static_cast<char*>(data) + index * 4, &value, 4);
    return;
  }
  const u16 bits = dtype == DType::fp16 ? float_to_fp16(value) : float_to_bf16(value);
  std::memcpy(static_cast<char*>(data) + index * 2, &bits, 2);
}

// The nearest value that `dtype` can hold.
constexpr float round_to(float value, DType dtype) {
  if (dtype == DType::fp32) return value;
  return dtype == DType::fp16 ? fp16_to_float(float_to_fp16(value)) : bf16_to_float(float_to_bf16(value));
}

}  // namespace speedlight
