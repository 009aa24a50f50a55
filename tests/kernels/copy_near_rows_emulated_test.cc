// The loader of backward's inner loop: rows far apart (offsets beyond 32 bits), near, and missing ones.
#include "tile/copy_near_rows.h"

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <vector>

#include "launch.h"
#include "memory.h"
#include "ptx/barrier.h"
#include "ptx/global.h"

namespace speedlight {
namespace {

using Tile = tile::Swizzled<32, 64>;
constexpr i32 threads = 128;

// Copies `rows` rows that lie `stride` elements apart and reads the tile back.
void check(i64 stride, i32 rows) {
  const std::unique_ptr<u16[]> data(new u16[rows * stride + 64]);  // not initialised: only the rows' pages come to be
  std::list<emulator::Region> regions;
  for (i32 r = 0; r < rows; ++r) {
    for (i32 c = 0; c < 64; ++c) data[r * stride + c] = u16(r * 64 + c + 1);
    regions.emplace_back("row", data.get() + r * stride, 128, emulator::Access::input);
  }
  std::vector<u16> out(32 * 64);
  regions.emplace_back("out", out.data(), i64(out.size() * 2), emulator::Access::output);
  emulator::launch(1, threads, Tile::bytes, [&] {
    const i32 thread = ptx::thread_index();
    tile::copy_near_rows<Tile, threads>(ptx::dynamic_shared(), reinterpret_cast<const char*>(data.get()), stride, rows, thread);
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
    ptx::sync_block();
    for (i32 i = thread; i < 32 * 8; i += threads)
      ptx::store_global_128(out.data() + i * 8, ptx::load_shared_128(ptx::dynamic_shared() + Tile::offset(i / 8, i % 8)));
  });
  for (i32 i = 0; i < 32 * 64; ++i) ASSERT_EQ(out[i], i / 64 < rows ? i + 1 : 0) << i;
}

TEST(CopyNearRows, NearRows) { check(72, 32); }
TEST(CopyNearRows, MissingRowsAreZero) { check(64, 19); }
TEST(CopyNearRows, OffsetsBeyond32Bits) { check(i64(1) << 27, 32); }
TEST(CopyNearRows, MissingRowsFarApart) { check(i64(1) << 27, 19); }
TEST(CopyNearRows, LargestStrideOfTheShortPath) { check((i64(1) << 26) - 8, 32); }

}  // namespace
}  // namespace speedlight
