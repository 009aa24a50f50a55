#include "conformance/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace speedlight::conformance {
namespace {

template <class T>
T read(const std::vector<u8>& from, i64 index) {
  T value;
  std::memcpy(&value, from.data() + index * i64(sizeof value), sizeof value);
  return value;
}

// Position on the number line in ulps; what is below `least` (bits of a magnitude) counts as zero.
i64 place(i64 magnitude, bool negative, i64 least) {
  const i64 at = magnitude < least ? 0 : magnitude - (least ? least - 1 : 0);
  return negative ? -at : at;
}
double ulps(float x, float y, bool flushed) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? 0 : INFINITY;
  const auto at = [&](float v) {
    const u32 b = __builtin_bit_cast(u32, v);
    return place(b & 0x7fffffff, b >> 31, flushed ? 0x00800000 : 0);
  };
  return double(std::abs(at(x) - at(y)));
}
double ulps(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? 0 : INFINITY;
  const auto at = [](double v) {
    const u64 b = __builtin_bit_cast(u64, v);
    return place(i64(b & 0x7fffffffffffffffu), b >> 63, 0);
  };
  return double(std::abs(at(x) - at(y)));
}

float element(bool bf16, u16 bits) {
  if (bf16) return __builtin_bit_cast(float, u32(bits) << 16);
  const i32 exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(fraction | 0x400), exponent - 25) : std::ldexp(float(fraction), -24));
}

// sum |a b| + |c| of result `index`; its case, row and column.
double magnitude(const Group& group, bool bf16, i64 index) {
  const i64 block = index / 128 * 1280, row = index % 128 / 8, column = index % 8;
  const auto at = [&](i64 offset) {
    u16 bits;
    std::memcpy(&bits, group.input.data() + block + offset, 2);
    return std::abs(double(element(bf16, bits)));
  };
  float c;
  std::memcpy(&c, group.input.data() + block + 768 + (row * 8 + column) * 4, 4);
  double sum = std::abs(double(c));
  for (i64 k = 0; k < 16; ++k) sum += at((row * 16 + k) * 2) * at(512 + (column * 16 + k) * 2);
  return sum;
}

// The error in units of what the rule allows: agrees when at most 1.
double excess(const Group& group, i64 i, float gpu, float emulated, double* shown) {
  switch (group.rule) {
    case Rule::exp2: return (*shown = ulps(gpu, emulated, true)) / 2;
    case Rule::reciprocal: return *shown = ulps(gpu, emulated, true);
    case Rule::log2: {
      const float x = read<float>(group.input, i);
      *shown = ulps(gpu, emulated, false);
      if (x > 0.5f && x < 2) return std::abs(double(gpu) - double(emulated)) / 0x1p-22;
      return *shown / 2;
    }
    default: break;
  }
  const double bound = 8 * 0x1p-23 * magnitude(group, group.rule == Rule::mma_bf16, i);
  if (!std::isfinite(gpu) || !std::isfinite(emulated)) return *shown = ulps(gpu, emulated, false) == 0 ? 0 : INFINITY;
  const double difference = std::abs(double(gpu) - double(emulated));
  return *shown = difference == 0 ? 0 : difference / bound;
}

// The operands of result i where a thread of a block of 128 turns an item of the input into results; nothing elsewhere.
std::string operands(const Group& group, i64 i, i64 results) {
  const i64 items = i64(group.grid) * 128, words = i64(group.input.size()) / 4 / items;
  if (group.threads != 128 || group.shared_bytes != 0) return "";
  std::string text = " of";
  for (i64 j = 0; j < words; ++j) text += fmt::format(" {:08x}", read<u32>(group.input, i * items / results * words + j));
  return text;
}

void note(Comparison& c, const std::string& line) {
  if (++c.different <= 8) c.report += "    " + line + "\n";
}

}  // namespace

Comparison compare(const Group& group, const std::vector<u8>& gpu, const std::vector<u8>& emulated) {
  Comparison c;
  if (gpu.size() != emulated.size()) {
    c.different = 1;
    c.report = fmt::format("    {} bytes and {}\n", gpu.size(), emulated.size());
    return c;
  }
  const bool wide = group.rule == Rule::double_ulps;
  c.values = i64(gpu.size()) / (wide ? 8 : 4);
  for (i64 i = 0; i < c.values; ++i) {
    if (wide) {
      const double x = read<double>(gpu, i), y = read<double>(emulated, i), error = ulps(x, y);
      c.inexact += std::memcmp(&x, &y, 8) != 0;
      c.worst = std::max(c.worst, error);
      if (error > 2)
        note(c, fmt::format("{}: GPU {:016x}, emulator {:016x}{}", i, read<u64>(gpu, i), read<u64>(emulated, i),
                            operands(group, i, c.values)));
      continue;
    }
    const u32 x = read<u32>(gpu, i), y = read<u32>(emulated, i);
    if (x == y) continue;
    ++c.inexact;
    double shown = 1, over = INFINITY;
    if (group.rule != Rule::exact) over = excess(group, i, read<float>(gpu, i), read<float>(emulated, i), &shown);
    c.worst = std::max(c.worst, shown);
    if (over <= 1) continue;
    note(c, fmt::format("{}: GPU {:08x}, emulator {:08x}{}", i, x, y, operands(group, i, c.values)));
  }
  return c;
}

}  // namespace speedlight::conformance
