#include "inputs.h"

namespace speedlight::conformance {
namespace {

float from(u32 bits) { return __builtin_bit_cast(float, bits); }

constexpr u32 specials[] = {
    0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0x7f7fffff, 0x7f800000,
    0x7fc00000, 0x7fffffff, 0x7f800001, 0x7fc12345, 0x3f000000, 0x40000000, 0x40400000, 0x3eaaaaab, 0x7e800000,
    0x7f000000, 0x00400000, 0x0d000000, 0x4b800000, 0x477fe000, 0x477fefff, 0x477ff000, 0x47800000,  // 65504, just below the tie with infinity, 65520, 65536
    0x38800000, 0x387fc000, 0x387fe000, 0x387fffff,  // 2^-14, the largest fp16 subnormal, a tie, just below 2^-14
    0x33800000, 0x33000000, 0x33000001, 0x33c00000,  // 2^-24, 2^-25 (a tie with 0), just above, 1.5 x 2^-24 (a tie)
    0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000,  // ties of fp16 and bf16, down and up to even
    0x7f7f7fff, 0x7f7f8000, 0x00008000, 0x00018000,  // bf16: the last before infinity, infinity; ties of subnormals
};

}  // namespace

u64 Inputs::bits64() {  // splitmix64
  u64 z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

float Inputs::uniform(float low, float high) { return low + (high - low) * (float(bits() >> 8) * 0x1p-24f); }

float Inputs::special() {
  const u32 value = specials[below(i32(sizeof specials / sizeof specials[0]))];
  return from(value | (bits() & 0x80000000));
}

float Inputs::any() {
  switch (below(3)) {
    case 0: return special();
    case 1: return from(bits());
    default: break;
  }
  const u32 exponent = u32(127 - 20 + below(40));
  return from((bits() & 0x807fffff) | exponent << 23);
}

double Inputs::any_double() {
  if (below(3) == 0) return double(special());
  if (below(2) == 0) return __builtin_bit_cast(double, bits64());
  const u64 exponent = u64(1023 - 20 + below(40));
  return __builtin_bit_cast(double, (bits64() & 0x800fffffffffffffu) | exponent << 52);
}

u16 Inputs::element(bool bf16, i32 kind) {
  const u32 fraction_bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15;
  const u32 sign = bits() & 0x8000;
  const u32 fraction = bits() & ((1u << fraction_bits) - 1);
  const auto number = [&](u32 exponent) { return u16(sign | exponent << fraction_bits | fraction); };
  switch (kind) {
    case 1: return number(0);
    case 2: return number(bf16 ? bias + 40 + u32(below(20)) : 22 + u32(below(9)));
    case 4:
      if (below(64) == 0) return u16(sign | (bf16 ? 0x7f80 : 0x7c00) | (below(3) == 0 ? 1u : 0u));
      return number(bias - 3 + u32(below(6)));
    case 5: return number(bf16 ? bias - 30 + u32(below(60)) : u32(below(31)));
    case 6: return below(3) == 0 ? number(bias) : u16(sign);
    case 7: return number(bias - 8 + u32(below(4)));
    default: return number(bias - 4 + u32(below(5)));
  }
}

}  // namespace speedlight::conformance
