// The emulator itself: the machine's operations do what the hardware does, and every detector fires on a kernel with that fault.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "launch.h"
#include "memory.h"
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/cp_async.h"
#include "ptx/global.h"
#include "ptx/math.h"
#include "ptx/matrix.h"
#include "ptx/mbarrier.h"
#include "ptx/mma.h"
#include "ptx/warp.h"
#include "tensor_map.h"

namespace speedlight {
namespace {

using emulator::Access;
using emulator::Region;

std::vector<u16> random_bfloats(std::size_t n, u64 seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<u16> v(n);
  for (u16& x : v) x = emulator::bfloat_from_float(normal(random));
  return v;
}

// One warp: C (16 x 8) = A (16 x 16) B^T (8 x 16), both through shared memory.
void product_kernel(const u16* a, const u16* b, float* c) {
  const ptx::SharedAddress shared = ptx::dynamic_shared();
  const i32 lane = ptx::lane_index();
  ptx::store_shared_128(shared + lane * 16, ptx::load_global_128(a + lane * 8));
  if (lane < 16)
    ptx::store_shared_128(shared + 512 + lane * 16, ptx::load_global_128(b + lane * 8));
  else
    ptx::store_shared_128(shared + 512 + lane * 16, {});
  ptx::sync_warp();
  u32 fa[4], fb[4];
  ptx::ldmatrix_x4(fa, shared + (lane % 16) * 32 + lane / 16 * 16);
  ptx::ldmatrix_x4(fb, shared + 512 + (lane % 8) * 32 + lane / 8 % 2 * 16);
  float d[4] = {};
  ptx::mma_16816<DType::bf16>(d, fa, fb[0], fb[1]);
  for (i32 i = 0; i < 4; ++i) ptx::store_global_float(c + (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2, d[i]);
}

TEST(Emulator, ldmatrix_and_mma_multiply) {
  const auto a = random_bfloats(256, 1), b = random_bfloats(128, 2);
  std::vector<float> c(128);
  const Region ra("a", a.data(), 512, Access::input), rb("b", b.data(), 256, Access::input), rc("c", c.data(), 512, Access::output);
  const auto counts = emulator::launch(1, 32, 1024, [&] { product_kernel(a.data(), b.data(), c.data()); });
  EXPECT_EQ(counts.mma, 1u);
  EXPECT_EQ(rc.unwritten(), 0);
  for (i32 i = 0; i < 16; ++i)
    for (i32 j = 0; j < 8; ++j) {
      double sum = 0;
      for (i32 k = 0; k < 16; ++k) sum += double(emulator::float_from_bfloat(a[i * 16 + k])) * emulator::float_from_bfloat(b[j * 16 + k]);
      EXPECT_NEAR(c[i * 8 + j], sum, 1e-5);
    }
}

// Every warp copies a box of 64 x 32 by bulk copy through a two-stage ring and adds it up; rows past the end are zeros.
void bulk_kernel(const TensorMap& map, i32 rows, float* out) {
  const ptx::SharedAddress shared = ptx::dynamic_shared(), full = shared + 8192, empty = full + 16;
  const i32 thread = ptx::thread_index();
  if (thread == 0) {
    for (i32 s = 0; s < 2; ++s) ptx::mbarrier_init(full + 8 * s, 1), ptx::mbarrier_init(empty + 8 * s, 2);
    ptx::mbarrier_fence_init();
  }
  ptx::sync_block();
  const i32 tiles = ceil_div(rows, 32);
  const auto fetch = [&](i32 tile) {
    const i32 s = tile % 2;
    ptx::mbarrier_wait(empty + 8 * s, u32(tile / 2 + 1) & 1);
    ptx::mbarrier_arrive_expect(full + 8 * s, 4096);
    ptx::bulk_tensor_4d(shared + 4096 * s, map, 0, tile * 32, i32(ptx::block_index()), 0, full + 8 * s);
  };
  if (thread == 0) fetch(0);
  float sum = 0;
  for (i32 tile = 0; tile < tiles; ++tile) {
    if (thread == 0 && tile + 1 < tiles) fetch(tile + 1);
    const i32 s = tile % 2;
    ptx::mbarrier_wait(full + 8 * s, u32(tile / 2) & 1);
    const i32 dim = thread;
    for (i32 r = 0; r < 32; ++r) {
      const u32 word = ptx::load_shared_32(shared + 4096 * s + r * 128 + ((dim / 8 * 16) ^ (r % 8 * 16)) + dim % 8 / 2 * 4);
      sum += dim % 2 ? ptx::unpack_hi<DType::bf16>(word) : ptx::unpack_lo<DType::bf16>(word);
    }
    ptx::sync_warp();
    ptx::mbarrier_arrive_if(empty + 8 * s, ptx::lane_index() == 0);
  }
  ptx::store_global_float(out + ptx::block_index() * 64 + thread, sum);
}

TEST(Emulator, bulk_copies_swizzle_and_fill_with_zeros) {
  constexpr i32 rows = 75, heads = 3;
  const auto x = random_bfloats(rows * heads * 64, 3);
  std::vector<float> out(heads * 64);
  const StridedTensor tensor{const_cast<u16*>(x.data()), rows * heads * 64, heads * 64, 64};
  const TensorMap map = emulator::make_tensor_map(tensor, 2, 64, rows, heads, 1, 64, 32);
  const Region rx("x", tensor, 2, 1, rows, heads, 64, Access::input);
  for (const auto landing : {emulator::Landing::at_once, emulator::Landing::late}) {
    const Region ro("out", out.data(), heads * 64 * 4, Access::output);
    emulator::launch(heads, 64, 8192 + 32, [&] { bulk_kernel(map, rows, out.data()); }, {.landing = landing, .name = "bulk_kernel"});
    for (i32 h = 0; h < heads; ++h)
      for (i32 d = 0; d < 64; ++d) {
        float sum = 0;
        for (i32 r = 0; r < rows; ++r) sum += emulator::float_from_bfloat(x[(r * heads + h) * 64 + d]);
        EXPECT_FLOAT_EQ(out[h * 64 + d], sum) << h << " " << d;
      }
  }
}

TEST(Emulator, counts_bank_conflicts_and_sectors) {
  alignas(32) static const float x[32 * 32] = {};
  const Region region("x", x, sizeof x, Access::input);
  const emulator::Config config{.trace = true};
  const auto conflicts = [&](i32 stride) {
    const auto c = emulator::launch(
        1, 32, 32 * 128, [&] { ptx::store_shared_32(ptx::dynamic_shared() + u32(ptx::lane_index() * stride), 0); }, config);
    EXPECT_EQ(c.shared_accesses, 1u);
    return c.shared_wavefronts;
  };
  EXPECT_EQ(conflicts(4), 1u);
  EXPECT_EQ(conflicts(8), 2u);
  EXPECT_EQ(conflicts(128), 32u);
  const auto sectors = [&](i32 stride) {
    return emulator::launch(
               1, 32, 0, [&] { ptx::load_global_float(&x[ptx::lane_index() * stride]); }, config)
        .global_sectors;
  };
  EXPECT_EQ(sectors(0), 1u);
  EXPECT_EQ(sectors(1), 4u);
  EXPECT_EQ(sectors(32), 32u);
  const auto matrix = [&](bool swizzled) {
    return emulator::launch(1, 32, 4096,
                            [&] {
                              const u32 lane = u32(ptx::lane_index());
                              for (u32 i = 0; i < 8; ++i) ptx::store_shared_128(ptx::dynamic_shared() + lane * 128 + i * 16, {});
                              ptx::sync_warp();
                              u32 r[4];
                              ptx::ldmatrix_x4(r, ptx::dynamic_shared() + lane * 128 + (swizzled ? lane % 8 * 16 : 0));
                            })
        .matrix_wavefronts;
  };
  EXPECT_EQ(matrix(true), 4u);
  EXPECT_EQ(matrix(false), 32u);
}

TEST(Emulator, transposed_matrices_and_stmatrix_are_inverse) {
  emulator::launch(1, 32, 1024, [] {
    const u32 lane = u32(ptx::lane_index()), at = ptx::dynamic_shared();
    u32 written[4], read[4], transposed[4];
    for (u32 m = 0; m < 4; ++m) written[m] = (m * 1000 + lane * 2 + 1) << 16 | (m * 1000 + lane * 2);
    ptx::stmatrix_x4(at + lane * 16, written);
    ptx::sync_warp();
    ptx::ldmatrix_x4(read, at + lane * 16);
    ptx::ldmatrix_x4_transposed(transposed, at + lane * 16);
    for (u32 m = 0; m < 4; ++m) {
      EXPECT_EQ(read[m], written[m]);
      // Element (r, c) of matrix m is m * 1000 + 8 r + c; transposed, this lane holds (2 (l % 4), l / 4) and (2 (l % 4) + 1, l / 4).
      const u32 r = lane % 4 * 2, c = lane / 4;
      EXPECT_EQ(transposed[m], (m * 1000 + 8 * (r + 1) + c) << 16 | (m * 1000 + 8 * r + c));
    }
  });
}

TEST(Emulator, shuffles_and_votes) {
  emulator::launch(1, 64, 0, [] {
    const i32 lane = ptx::lane_index();
    EXPECT_EQ(ptx::shuffle_xor(float(lane), 5), float(lane ^ 5));
    EXPECT_EQ(ptx::shuffle_xor(1.0 / (lane + 1), 16), 1.0 / ((lane ^ 16) + 1));
    EXPECT_EQ(ptx::broadcast(ptx::thread_index(), 3), ptx::thread_index() / 32 * 32 + 3);
    EXPECT_TRUE(ptx::any(lane == 17));
    EXPECT_FALSE(ptx::any(false));
  });
}

TEST(Emulator, conversions_round_to_nearest_even) {
  using emulator::bfloat_from_float, emulator::half_from_float, emulator::float_from_half;
  for (u32 h = 0; h < 65536; ++h) {
    const float x = float_from_half(u16(h));
    if (x != x) continue;
    ASSERT_EQ(half_from_float(x), h);
    const float next = float_from_half(u16(h + 1));
    if ((h & 0x7fff) >= 0x7bff) continue;
    const float middle = (x + next) / 2;  // exact in float
    ASSERT_EQ(half_from_float(middle), h + (h & 1));
    ASSERT_EQ(half_from_float(std::nextafter(middle, x)), h);
    ASSERT_EQ(half_from_float(std::nextafter(middle, next)), h + 1);
  }
  EXPECT_EQ(half_from_float(65519.99f), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(half_from_float(-1e30f), 0xfc00);
  EXPECT_EQ(half_from_float(std::nanf("")), 0x7fff);
  for (u32 h = 0; h < 0x7f80; ++h) {
    const float x = emulator::float_from_bfloat(u16(h)), middle = __builtin_bit_cast(float, h << 16 | 0x8000u);
    ASSERT_EQ(bfloat_from_float(x), h);
    ASSERT_EQ(bfloat_from_float(middle), h + (h & 1));
    ASSERT_EQ(bfloat_from_float(std::nextafter(middle, 0.0f)), h);
    ASSERT_EQ(bfloat_from_float(-std::nextafter(middle, INFINITY)), (h + 1) | 0x8000);
  }
  EXPECT_EQ(ptx::pack<DType::bf16>(1.0f, -2.0f), 0xc0003f80u);
  EXPECT_EQ(ptx::pack<DType::fp16>(1.0f, -2.0f), 0xc0003c00u);
  EXPECT_EQ(ptx::unpack_hi<DType::fp16>(0xc0003c00u), -2.0f);
}

TEST(Emulator, arithmetic_at_the_edges) {
  const float inf = ptx::infinity(), nan = std::nanf("");
  EXPECT_EQ(ptx::exp2(-inf), 0);
  EXPECT_EQ(ptx::exp2(inf), inf);
  EXPECT_EQ(ptx::exp2(-127.0f), 0);  // subnormal results are flushed
  EXPECT_EQ(ptx::exp2(-126.0f), 0x1p-126f);
  EXPECT_EQ(ptx::maximum(nan, 1.0f), 1.0f);
  EXPECT_EQ(ptx::maximum(1.0f, nan), 1.0f);
  EXPECT_TRUE(std::isnan(ptx::maximum(nan, nan)));
  EXPECT_FALSE(std::signbit(ptx::maximum(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(ptx::minimum(0.0f, -0.0f)));
}

}  // namespace
}  // namespace speedlight
