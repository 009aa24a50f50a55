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
  if (lane < 16) ptx::store_shared_128(shared + 512 + lane * 16, ptx::load_global_128(b + lane * 8));
  else ptx::store_shared_128(shared + 512 + lane * 16, {});
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

}  // namespace
}  // namespace speedlight
