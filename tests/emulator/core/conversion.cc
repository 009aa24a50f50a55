// 16-bit floats, rounded as the hardware's cvt.rn does.
#include "core/hooks.h"

namespace speedlight::emulator {
namespace {

u32 bits(float x) { return __builtin_bit_cast(u32, x); }

float widen_half(u16 h) {
  const u32 sign = u32(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
  if (exponent == 0) return __builtin_bit_cast(float, bits(float(fraction) * 0x1p-24f) | sign);
  return __builtin_bit_cast(float, sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}

struct HalfTable {
  float value[65536];
  HalfTable() {
    for (u32 i = 0; i < 65536; ++i) value[i] = widen_half(u16(i));
  }
};

}  // namespace

float float_from_half(u16 x) {
  static const HalfTable table;
  return table.value[x];
}

u16 half_from_float(float f) {
  const u32 sign = bits(f) >> 16 & 0x8000;
  u32 x = bits(f) & 0x7fffffff;
  if (x > 0x7f800000) return 0x7fff;
  if (x >= 0x477ff000) return u16(sign | 0x7c00);  // from 65520 on: infinity
  if (x < 0x38800000)                              // below 2^-14: one unit is 2^-24, as that of floats from 0.5 on
    return u16(sign | (bits(__builtin_bit_cast(float, x) + 0.5f) - bits(0.5f)));
  x += 0xfff + (x >> 13 & 1);
  return u16(sign | (x - 0x38000000) >> 13);
}

u16 bfloat_from_float(float f) {
  const u32 x = bits(f);
  if ((x & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return u16((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

}  // namespace speedlight::emulator
