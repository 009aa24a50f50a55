#include "cpu/element.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "cpu/kernels.h"

namespace speedlight {
namespace {

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::bit_cast<u32>(a) == std::bit_cast<u32>(b); }

TEST(Element, EveryHalfConvertsToTheSameFloatAsEigens) {
  for (u32 i = 0; i < 65536; ++i) {
    const float fp16 = float(Eigen::numext::bit_cast<Eigen::half>(u16(i))), bf16 = float(Eigen::numext::bit_cast<Eigen::bfloat16>(u16(i)));
    ASSERT_TRUE(same(fp16, fp16_to_float(u16(i)))) << i;
    ASSERT_TRUE(same(bf16, bf16_to_float(u16(i)))) << i;
  }
}

TEST(Element, EveryHalfComesBackFromFloat) {
  for (u32 i = 0; i < 65536; ++i) {
    ASSERT_TRUE(std::isnan(fp16_to_float(u16(i))) || float_to_fp16(fp16_to_float(u16(i))) == i) << i;
    ASSERT_TRUE(std::isnan(bf16_to_float(u16(i))) || float_to_bf16(bf16_to_float(u16(i))) == i) << i;
  }
}

// Between each two neighbours: just under the middle goes down, just over it up, the middle to the even one.
template <class Widen, class Narrow>
void check_rounding(u32 largest_finite, Widen widen, Narrow narrow) {
  for (u32 i = 0; i < largest_finite; ++i) {
    const double low = widen(u16(i)), high = widen(u16(i + 1));
    const float middle = float((low + high) / 2);  // exact
    for (const u32 sign : {0u, 0x8000u}) {
      const float s = sign ? -1.0f : 1.0f;
      ASSERT_EQ(narrow(s * middle), sign | (i % 2 == 0 ? i : i + 1)) << i;
      ASSERT_EQ(narrow(s * std::nextafter(middle, 0.0f)), sign | i) << i;
      ASSERT_EQ(narrow(s * std::nextafter(middle, INFINITY)), sign | (i + 1)) << i;
    }
  }
}

TEST(Element, RoundsToNearestEven) {
  check_rounding(0x7bff, fp16_to_float, float_to_fp16);
  check_rounding(0x7f7f, bf16_to_float, float_to_bf16);
}

TEST(Element, OverflowsToInfinityAndKeepsNan) {
  EXPECT_EQ(float_to_fp16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_fp16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_fp16(-1e30f), 0xfc00);
  EXPECT_EQ(float_to_fp16(INFINITY), 0x7c00);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bf16(-INFINITY), 0xff80);
  for (const u32 nan : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(fp16_to_float(float_to_fp16(std::bit_cast<float>(nan)))));
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(nan)))));
  }
}

TEST(Element, ReadsAndWritesUnaligned) {
  unsigned char memory[16] = {};
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    write_element(memory + 1, 2, dtype, -1.5f);
    EXPECT_EQ(read_element(memory + 1, 2, dtype), -1.5f);
  }
}

// The vectorised conversions of the backend's kernels, of every instruction set.
TEST(Element, KernelsConvertAlike) {
  std::vector<u16> halves(65536), stored(65536);
  for (u32 i = 0; i < 65536; ++i) halves[i] = u16(i);
  std::vector<float> wide(65536);
  const std::vector<float> ones(512, 1.0f);
  int count = 0;
  const cpu::Kernels* const* all = cpu::available_kernels(count);
  for (int variant = 0; variant < count; ++variant)
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      all[variant]->load(wide.data(), halves.data(), dtype, 128, 512, 128);
      for (i64 i = 0; i < 65536; ++i)
        ASSERT_TRUE(same(wide[size_t(i)], read_element(halves.data(), i, dtype))) << all[variant]->name << " " << i;
      // Values between the halves, as a column-major tile of 512 x 128.
      for (u32 i = 0; i < 65536; ++i) wide[i] = std::bit_cast<float>(i << 16 | (i * 40503u & 0xffffu));
      all[variant]->store(stored.data(), dtype, 128, wide.data(), ones.data(), 512, 128);
      for (i64 row = 0; row < 512; ++row)
        for (i64 j = 0; j < 128; ++j) {
          const float exact = wide[size_t(j * 512 + row)];
          ASSERT_TRUE(same(read_element(stored.data(), row * 128 + j, dtype), round_to(exact, dtype)))
              << all[variant]->name << " " << exact;
        }
    }
}

}  // namespace
}  // namespace speedlight
