#include "groups.h"

#include <cstring>
#include <functional>

#include "inputs.h"

namespace speedlight::conformance {
namespace {

constexpr i32 arithmetic_items = 640;

template <class T>
void append(std::vector<u8>& to, T value) {
  const auto* bytes = reinterpret_cast<const u8*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

// Blocks of 128 threads, a result of `output_size` bytes each.
Group arithmetic(const std::string& name, Rule rule, i64 output_size, const std::function<void(std::vector<u8>&, i32)>& fill) {
  Group g{name, name, rule, arithmetic_items / 128, 128, 0, {}, arithmetic_items * output_size, {}};
  for (i32 i = 0; i < arithmetic_items; ++i) fill(g.input, i);
  return g;
}

// One block or more of random words.
Group words(const std::string& name, Inputs& in, u32 grid, i32 threads, i32 shared_bytes, i64 input_words, i64 output_bytes) {
  Group g{name, name, Rule::exact, grid, threads, shared_bytes, {}, output_bytes, {}};
  for (i64 i = 0; i < input_words; ++i) append(g.input, in.bits());
  return g;
}

float next_to(float x, i32 ulps) { return __builtin_bit_cast(float, __builtin_bit_cast(u32, x) + u32(ulps)); }

float exp2_operand(Inputs& in, i32 i) {
  if (i % 4 == 0) return in.any();
  if (i % 4 == 1) return in.uniform(-160, 140);
  if (i % 4 == 2) return in.uniform(-2, 2);
  const float whole = float(in.below(300) - 160);
  return next_to(whole, in.below(7) - 3);
}
float log2_operand(Inputs& in, i32 i) {
  if (i % 4 == 0) return in.any();
  if (i % 4 == 1) return in.uniform(0.5f, 2);
  if (i % 4 == 2) return next_to(1, in.below(401) - 200);
  return __builtin_bit_cast(float, in.bits() & 0x7fffffff);
}
// b is often near a, so that differences cancel; c often near -(a b).
void two(std::vector<u8>& to, Inputs& in, i32 i) {
  const float a = in.any();
  append(to, a);
  append(to, i % 4 == 0 ? next_to(a, in.below(9) - 4) : in.any());
}
void three(std::vector<u8>& to, Inputs& in, i32 i) {
  const float a = in.any(), b = in.any();
  append(to, a);
  append(to, b);
  append(to, i % 4 == 0 ? next_to(-float(double(a) * double(b)), in.below(5) - 2) : in.any());
}

void add_arithmetic(std::vector<Group>& groups, Inputs& in) {
  const auto add = [&](const char* name, Rule rule, i64 size, const std::function<void(std::vector<u8>&, i32)>& fill) {
    groups.push_back(arithmetic(name, rule, size, fill));
  };
  add("exp2", Rule::exp2, 4, [&](auto& to, i32 i) { append(to, exp2_operand(in, i)); });
  add("log2", Rule::log2, 4, [&](auto& to, i32 i) { append(to, log2_operand(in, i)); });
  add("reciprocal", Rule::reciprocal, 4, [&](auto& to, i32) { append(to, in.any()); });
  add("fma", Rule::exact, 4, [&](auto& to, i32 i) { three(to, in, i); });
  for (const char* name : {"multiply", "subtract", "maximum", "minimum"})
    add(name, Rule::exact, 4, [&](auto& to, i32 i) { two(to, in, i); });
  add("exp_double", Rule::double_ulps, 8, [&](auto& to, i32 i) { append(to, i % 2 ? double(in.uniform(-40, 40)) : in.any_double()); });
  add("log_double", Rule::double_ulps, 8, [&](auto& to, i32 i) { append(to, i % 2 ? double(in.uniform(0.5f, 2)) : in.any_double()); });
  add("bits", Rule::exact, 4, [&](auto& to, i32) { append(to, in.any()); });
  add("shift_left", Rule::exact, 4, [&](auto& to, i32 i) { append(to, in.bits()), append(to, i % 4 ? u32(in.below(64)) : in.bits()); });
  for (const char* name : {"pack_bf16", "pack_fp16"})
    add(name, Rule::exact, 4, [&](auto& to, i32) { append(to, in.any()), append(to, in.any()); });
  for (const char* name : {"unpack_bf16", "unpack_fp16"})
    add(name, Rule::exact, 8, [&](auto& to, i32 i) { append(to, in.bits() & (i % 4 ? ~0u : 0x83ff83ffu)); });  // fp16 subnormals too
  add("add_float", Rule::exact, 4, [&](auto& to, i32 i) { two(to, in, i); });
  add("add_double", Rule::exact, 8, [&](auto& to, i32) { append(to, in.any_double()), append(to, in.any_double()); });
  add("add_float4", Rule::exact, 16, [&](auto& to, i32) {
    for (i32 j = 0; j < 8; ++j) append(to, in.any());
  });
  groups.back().grid = 2, groups.back().output_bytes = 256 * 16;
}

Group vote_group(Inputs& in) {
  Group g = words("vote", in, 4, 64, 0, 0, 4 * 64 * 4);
  for (i32 warp = 0; warp < 8; ++warp) {
    const i32 only = in.below(32);  // bit 0: no lane, 1: one lane, 2: all, 3: all but one, the others seldom
    for (i32 lane = 0; lane < 32; ++lane)
      append(g.input, (lane == only ? 2u : 0u) | 4u | (lane == only ? 0u : 8u) | (in.below(32) == 0 ? in.bits() & 0xf0 : 0u));
  }
  return g;
}

Group cp_async_group(const std::string& name, Inputs& in) {
  Group g{name, name, Rule::exact, 2, 64, 192 * 16, {}, 2 * 192 * 16, {}};
  for (u32 block = 0; block < g.grid; ++block) {
    for (i32 i = 0; i < 192 * 4; ++i) append(g.input, in.bits());
    for (i32 i = 0; i < 192; ++i) append(g.input, u32(in.below(192)) | (in.below(3) == 0 ? 0x80000000u : 0u));
  }
  return g;
}

Group matrix_group(Inputs& in) {
  Group g{"matrix", "matrix", Rule::exact, 3, 32, 2048, {}, 3 * 2048, {}};
  for (u32 block = 0; block < g.grid; ++block) {
    for (i32 i = 0; i < 256; ++i) append(g.input, in.bits());
    for (i32 i = 0; i < 32; ++i) append(g.input, in.below(64));
    i32 rows[64];
    for (i32 i = 0; i < 64; ++i) rows[i] = i;
    for (i32 i = 63; i > 0; --i) std::swap(rows[i], rows[in.below(i + 1)]);
    for (i32 i = 0; i < 32; ++i) append(g.input, rows[i]);
  }
  return g;
}

float mma_c(Inputs& in, bool bf16, i32 kind) {
  switch (kind) {
    case 1: return bf16 ? __builtin_bit_cast(float, in.bits() & 0x807fffff) : in.uniform(-0x1p-40f, 0x1p-40f);
    case 2: return in.uniform(-1, 1) * (bf16 ? 0x1p100f : 0x1p30f);
    case 4: return in.below(64) ? in.uniform(-4, 4) : in.special();
    case 6: return in.below(2) ? 0.0f : -0.0f;
    case 7: return in.uniform(-1, 1) * 0x1p20f;
    default: return in.uniform(-1, 1);
  }
}

Group mma_group(bool bf16, Inputs& in) {
  constexpr i32 cases = 5 * mma_kinds;
  const std::string name = bf16 ? "mma_bf16" : "mma_fp16";
  Group g{name, name, bf16 ? Rule::mma_bf16 : Rule::mma_fp16, u32(cases), 32, 0, {}, cases * 512, {}};
  for (i32 i = 0; i < cases; ++i) {
    const i32 kind = i % mma_kinds;
    const bool cancels = kind == 3;  // every second product is nearly the negative of the one before it
    u16 a[16][16], b[8][16];
    for (auto& row : a)
      for (i32 k = 0; k < 16; ++k) row[k] = cancels && k % 2 ? u16(row[k - 1] ^ 0x8000) : in.element(bf16, kind);
    for (auto& column : b)
      for (i32 k = 0; k < 16; ++k) column[k] = cancels && k % 2 ? u16(column[k - 1] ^ u16(in.below(2))) : in.element(bf16, kind);
    for (const auto& row : a)
      for (const u16 x : row) append(g.input, x);
    for (const auto& column : b)
      for (const u16 x : column) append(g.input, x);
    for (i32 j = 0; j < 128; ++j) append(g.input, cancels ? mma_c(in, bf16, 0) * 0x1p-10f : mma_c(in, bf16, kind));
  }
  return g;
}

// The boxes lie inside, across each end of each dimension and wholly outside.
Group bulk_group(const std::string& name, Inputs& in, BulkTensor t) {
  Group g{name, "bulk", Rule::exact, 1, 64, 1024 + 128 * t.box_rows * t.slabs, {}, 0, {}};
  const i32 last = t.rows - t.box_rows;
  const i32 boxes[][4] = {{0, 0, 0, 0},
                          {0, last, t.heads - 1, t.batch - 1},
                          {0, last + 3, 0, t.batch - 1},
                          {0, -3, t.heads - 1, 0},
                          {0, t.rows, 0, 0},
                          {8, 1, t.heads - 1, 0},
                          {-16, 2, 0, t.batch - 1},
                          {0, 0, t.heads, 0},
                          {0, 0, 0, t.batch},
                          {0, 0, -1, 0},
                          {0, -t.box_rows, 0, 0},
                          {t.dim - 8, last + 1, 0, 0}};
  t.boxes = i32(sizeof boxes / sizeof boxes[0]);
  for (const auto& box : boxes)
    for (const i32 at : box) append(g.input, at);
  g.input.resize(256);
  t.offset = 256;
  const i64 elements = (t.batch - 1) * t.batch_stride + (t.heads - 1) * t.head_stride + (t.rows - 1) * t.row_stride + t.dim;
  for (i64 i = 0; i < elements; ++i) append(g.input, u16(in.bits()));
  g.output_bytes = i64(t.boxes) * t.slabs * t.box_rows * 128;
  g.bulk = t;
  return g;
}

void add_bulk(std::vector<Group>& groups, Inputs& in) {
  //                                                   dim  rows heads batch  row        head     batch
  groups.push_back(bulk_group("bulk_d64", in, {0, 64, 20, 3, 2, 3 * 64, 64, 20 * 3 * 64, 0, 1, 8}));
  groups.push_back(bulk_group("bulk_d128_two_slabs", in, {0, 128, 12, 2, 2, 128, 12 * 128 + 8, 2 * (12 * 128 + 8), 0, 2, 4}));
  groups.push_back(bulk_group("bulk_d72_part_of_a_slab", in, {0, 72, 11, 2, 1, 2 * 80, 80, 11 * 160, 0, 2, 4}));
  groups.push_back(bulk_group("bulk_broadcast", in, {0, 64, 16, 1, 1, 64, 64, 64, 0, 1, 4}));
}

}  // namespace

std::vector<Group> make_groups(u64 seed) {
  Inputs in(seed);
  std::vector<Group> groups;
  groups.push_back(words("identity", in, 3, 64, 1024, 1, 3 * 64 * 24));
  add_arithmetic(groups, in);
  groups.push_back(words("shuffle", in, 1, 64, 0, 64 * 4, 64 * 28 * 4));
  groups.push_back(vote_group(in));
  groups.push_back(words("shared", in, 1, 64, 64 * 32, 64 * 8, 64 * 14 * 4));
  groups.push_back(words("flags", in, 16, 32, 0, 16 * 2, 16 * 12));
  groups.push_back(words("global", in, 2, 64, 0, 2 * 64 * 12, 2 * 64 * 48));
  groups.push_back(cp_async_group("cp_async", in));
  groups.push_back(matrix_group(in));
  groups.push_back(mma_group(true, in));
  groups.push_back(mma_group(false, in));
  groups.push_back(words("barriers", in, 1, 128, 1536, 128, 128 * 12));
  groups.push_back(words("mbarriers", in, 1, 128, 64 + 256, 256, 96 * 32));
  add_bulk(groups, in);
  groups.push_back(cp_async_group("cp_async_invalid", in));
  groups.push_back(words("bulk_bytes", in, 1, 64, 128 + 1024, 256, 1024));
  return groups;
}

}  // namespace speedlight::conformance
