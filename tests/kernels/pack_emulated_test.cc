// The packing kernel on the emulator: every element arrives, nothing else is touched, at every width that alignment allows.
#include <gtest/gtest.h>
#include <cstring>
#include <memory>
#include <vector>
#include "kernels/pack.h"
#include "launch.h"
#include "memory.h"

namespace speedlight {
namespace {

struct Side {
  i64 batch, row, head, offset;  // in elements; the base is 16-byte aligned plus offset
};

struct Shape {
  i64 batch, rows, heads, dim;
};

template <class Element>
struct Copied {
  std::vector<Element> from, to;
  StridedTensor source, target;
  Shape shape;

  Copied(Shape s, Side a, Side b, i64 size, Element seed) : from(size_t(size)), to(size_t(size)), shape(s) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = Element(seed + i * 7);
    source = {from.data() + a.offset, a.batch, a.row, a.head};
    target = {to.data() + b.offset, b.batch, b.row, b.head};
  }
  PackJob job(i32 first) const { return {source, target, shape.batch, shape.rows, shape.heads, i32(shape.dim), first}; }
  void expect_equal() const {
    for (i64 b = 0; b < shape.batch; ++b)
      for (i64 r = 0; r < shape.rows; ++r)
        for (i64 h = 0; h < shape.heads; ++h)
          for (i64 d = 0; d < shape.dim; ++d) {
            const auto at = [&](const StridedTensor& t) {
              return static_cast<const Element*>(t.data)[b * t.batch + r * t.row + h * t.head + d];
            };
            ASSERT_EQ(at(target), at(source)) << b << ' ' << r << ' ' << h << ' ' << d;
          }
  }
};

template <class Element>
void run(std::vector<Copied<Element>>& tensors, i32 blocks_each) {
  constexpr PackConfig config{sizeof(Element)};
  PackParams params{};
  std::vector<std::unique_ptr<emulator::Region>> regions;
  for (const auto& t : tensors) {
    params.jobs[params.count] = t.job(params.count * blocks_each);
    ++params.count;
    const Shape& s = t.shape;
    regions.push_back(std::make_unique<emulator::Region>("from", t.source, i32(sizeof(Element)), s.batch, s.rows, s.heads, s.dim,
                                                         emulator::Access::input));
    regions.push_back(std::make_unique<emulator::Region>("to", t.target, i32(sizeof(Element)), s.batch, s.rows, s.heads, s.dim,
                                                         emulator::Access::output));
  }
  emulator::launch(u32(params.count * blocks_each), config.threads(), 0, [&] { kernels::pack<config>(params); }, {.name = "pack"});
  for (const auto& region : regions) EXPECT_EQ(region->unwritten(), 0);
  for (const auto& t : tensors) t.expect_equal();
}

TEST(Pack, MisalignedRowsBecomeContiguous) {
  const Shape s{2, 5, 3, 64};
  std::vector<Copied<u16>> t;
  t.emplace_back(s, Side{5 * 3 * 67 + 9, 3 * 67, 67, 1}, Side{5 * 3 * 64, 3 * 64, 64, 0}, 4096, u16(11));
  run(t, 1);
}

TEST(Pack, WideAccessWhereBothSidesAreAligned) {
  const Shape s{2, 5, 3, 128};
  std::vector<Copied<u16>> t;
  t.emplace_back(s, Side{5 * 3 * 136, 3 * 136, 136, 8}, Side{5 * 3 * 128, 3 * 128, 128, 0}, 8192, u16(3));
  run(t, 2);
}

TEST(Pack, FourByteElementsOutOfWorkspace) {
  const Shape s{2, 7, 2, 64};
  std::vector<Copied<u32>> t;
  t.emplace_back(s, Side{7 * 128, 128, 64, 0}, Side{7 * 131 + 1, 131, 65, 3}, 4096, 5u);
  run(t, 1);
}

TEST(Pack, SeveralTensorsShareALaunchAndBroadcastRowsSpreadOut) {
  std::vector<Copied<u16>> t;
  t.reserve(3);
  t.emplace_back(Shape{1, 9, 2, 64}, Side{0, 0, 64, 0}, Side{9 * 128, 128, 64, 0}, 4096, u16(1));  // one row for all
  t.emplace_back(Shape{2, 3, 1, 128}, Side{0, 130, 7, 2}, Side{384, 128, 128, 0}, 4096, u16(2));   // one batch for all, 4-byte aligned
  t.emplace_back(Shape{1, 1, 1, 64}, Side{1, 1, 1, 5}, Side{64, 64, 64, 0}, 128, u16(3));
  run(t, 3);
}

TEST(Pack, BlockCount) {
  EXPECT_EQ(pack_blocks(0, 2), 0);
  EXPECT_EQ(pack_blocks(1, 2), 1);
  EXPECT_EQ(pack_blocks(8193, 2), 2);
  EXPECT_EQ(pack_blocks(i64(1) << 40, 4), 4096);
}

}  // namespace
}  // namespace speedlight
