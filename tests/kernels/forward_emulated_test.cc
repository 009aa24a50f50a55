// The forward kernel under the emulator: small, ugly problems against a plain double loop, within the bound of DESIGN section 5.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/hooks.h"
#include "kernels/forward.h"
#include "launch.h"
#include "memory.h"
#include "tensor_map.h"

namespace speedlight {
namespace {

using emulator::Access;
using emulator::Region;

constexpr i64 none = Window::unlimited;

enum class Data : u8 {
  normal,
  loud,        // logits of some tens: references age, steps are done again
  rising,      // each key beats the ones before
  huge_equal,  // equal keys with logits of 1e11 and more
  offset,      // all logits near -2e4
};
enum class Strides : u8 { contiguous, padded_head_major, broadcast_batch, broadcast_heads };

struct Case {
  i32 batch, heads_q, heads_kv, seqlen_q, seqlen_k;
  Window window{};
  float scale = 0.1f;
  Data data = Data::normal;
  Strides strides = Strides::contiguous;
  bool out_fp32 = false, want_lse = true;
  i32 head_group = 1;
};

std::string text(const Case& c) {
  return "b" + std::to_string(c.batch) + " h" + std::to_string(c.heads_q) + "/" + std::to_string(c.heads_kv) + " q" +
         std::to_string(c.seqlen_q) + " k" + std::to_string(c.seqlen_k) + " window " + std::to_string(c.window.left) + "," +
         std::to_string(c.window.right) + " scale " + std::to_string(c.scale) + " data " + std::to_string(int(c.data)) + " strides " +
         std::to_string(int(c.strides)) + (c.out_fp32 ? " fp32" : "");
}

float to_float(DType t, u16 x) { return t == DType::bf16 ? emulator::float_from_bfloat(x) : emulator::float_from_half(x); }
u16 from_float(DType t, float x) { return t == DType::bf16 ? emulator::bfloat_from_float(x) : emulator::half_from_float(x); }

// A strided (batch, rows, heads, dim) tensor inside memory full of NaN.
struct Tensor {
  std::vector<u16> memory;
  StridedTensor layout{};
  i32 dim = 0, element_words = 1;

  Tensor(Strides strides, i32 batch, i32 rows, i32 heads, i32 dim_, bool fp32 = false) : dim(dim_), element_words(fp32 ? 2 : 1) {
    if (strides == Strides::padded_head_major) {
      layout.row = dim + 8;
      layout.head = rows * layout.row + 16;
      layout.batch = heads * layout.head + 24;
    } else {
      layout.head = strides == Strides::broadcast_heads ? 0 : dim;
      layout.row = (strides == Strides::broadcast_heads ? 1 : heads) * dim;
      layout.batch = strides == Strides::broadcast_batch ? 0 : rows * layout.row;
    }
    const i64 last = larger(batch - 1, 0) * layout.batch + larger(rows - 1, 0) * layout.row + larger(heads - 1, 0) * layout.head + dim;
    memory.assign(std::size_t(last * element_words), 0x7fff);
    layout.data = memory.data();
  }
  i64 at(i32 b, i32 s, i32 h, i32 d) const { return b * layout.batch + s * layout.row + h * layout.head + d; }
  u16& operator()(i32 b, i32 s, i32 h, i32 d) { return memory[std::size_t(at(b, s, h, d))]; }
  float value(DType t, i32 b, i32 s, i32 h, i32 d) const {
    if (element_words == 1) return to_float(t, memory[std::size_t(at(b, s, h, d))]);
    return reinterpret_cast<const float*>(memory.data())[at(b, s, h, d)];
  }
};

void fill(Tensor& t, DType dtype, Data data, char which, i32 batch, i32 rows, i32 heads, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  for (i32 b = 0; b < batch; ++b)
    for (i32 s = 0; s < rows; ++s)
      for (i32 h = 0; h < heads; ++h)
        for (i32 d = 0; d < t.dim; ++d) {
          float x = normal(random);
          if (which != 'v' && data == Data::loud) x *= 3;
          if (data == Data::rising && d == 0) x = which == 'q' ? 10.f : which == 'k' ? float(s) : x;
          if (which != 'v' && data == Data::huge_equal)
            x = dtype == DType::bf16 ? (which == 'q' ? 133120.f : -133120.f) : (which == 'q' ? 60000.f : 60000.f);
          if (data == Data::offset && d == 0) x = which == 'q' ? 448.f : which == 'k' ? -548.f : x;
          t(b, s, h, d) = from_float(dtype, x);
        }
}

struct Row {
  std::vector<double> exact, plain;
  double lse;
};

Row reference_row(const Tensor& q, const Tensor& k, const Tensor& v, DType t, const Case& c, i32 b, i32 h, i32 i) {
  const i32 dim = q.dim, kv = h / (c.heads_q / c.heads_kv);
  const Band visible = band(i, c.seqlen_q, c.seqlen_k, c.window);
  Row r{std::vector<double>(std::size_t(dim), 0.0), std::vector<double>(std::size_t(dim), 0.0), -INFINITY};
  if (visible.empty()) return r;
  std::vector<double> s;
  std::vector<float> f;
  for (i32 j = i32(visible.lo); j < visible.hi; ++j) {
    double x = 0;
    float y = 0;
    for (i32 d = 0; d < dim; ++d) {
      x += double(q.value(t, b, i, h, d)) * double(k.value(t, b, j, kv, d));
      y += q.value(t, b, i, h, d) * k.value(t, b, j, kv, d);
    }
    s.push_back(x * double(c.scale));
    f.push_back(y * c.scale);
  }
  double largest = -INFINITY, sum = 0;
  float largest_f = -INFINITY, sum_f = 0;
  for (double x : s) largest = std::max(largest, x);
  for (float x : f) largest_f = std::max(largest_f, x);
  for (double& x : s) sum += x = std::exp(x - largest);
  for (float& x : f) sum_f += x = std::exp(x - largest_f);
  r.lse = largest + std::log(sum);
  std::vector<float> plain(std::size_t(dim), 0.f);
  for (std::size_t j = 0; j < s.size(); ++j)
    for (i32 d = 0; d < dim; ++d) {
      const float value = v.value(t, b, i32(visible.lo) + i32(j), kv, d);
      r.exact[std::size_t(d)] += s[j] / sum * double(value);
      plain[std::size_t(d)] += to_float(t, from_float(t, f[j] / sum_f)) * value;
    }
  for (i32 d = 0; d < dim; ++d)
    r.plain[std::size_t(d)] = c.out_fp32 ? plain[std::size_t(d)] : to_float(t, from_float(t, plain[std::size_t(d)]));
  return r;
}

void compare(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const std::vector<float>& lse, DType t, const Case& c) {
  double largest_v = 0, worst = 0, worst_plain = 0, worst_lse = 0;
  std::string where;
  for (u16 x : v.memory)
    if (x != 0x7fff) largest_v = std::max(largest_v, std::abs(double(to_float(t, x))));
  for (i32 b = 0; b < c.batch; ++b)
    for (i32 h = 0; h < c.heads_q; ++h)
      for (i32 i = 0; i < c.seqlen_q; ++i) {
        const Row r = reference_row(q, k, v, t, c, b, h, i);
        for (i32 d = 0; d < q.dim; ++d) {
          const double x = out.value(t, b, i, h, d), error = std::abs(x - r.exact[std::size_t(d)]);
          if (std::isinf(r.lse)) {
            ASSERT_EQ(x, 0) << "dead row " << i;
          }
          if (!(error <= worst)) {
            worst = error;
            where = "b " + std::to_string(b) + " h " + std::to_string(h) + " row " + std::to_string(i) + " d " + std::to_string(d) + ": " +
                    std::to_string(x) + " for " + std::to_string(r.exact[std::size_t(d)]);
          }
          worst_plain = std::max(worst_plain, std::abs(r.plain[std::size_t(d)] - r.exact[std::size_t(d)]));
        }
        if (!c.want_lse) continue;
        const double l = lse[std::size_t((i64(b) * c.heads_q + h) * c.seqlen_q + i)];
        if (std::isinf(r.lse)) {
          ASSERT_EQ(l, -INFINITY) << "dead row " << i;
        } else {
          const double share = std::abs(l - r.lse) / (1e-3 + 1e-5 * std::abs(r.lse));
          if (!(share <= worst_lse)) worst_lse = share;
        }
      }
  const double u = t == DType::bf16 ? 1.0 / 512 : 1.0 / 4096;
  EXPECT_LE(worst, 2 * worst_plain + u * largest_v) << where;
  EXPECT_LE(worst_lse, 1);
}

template <ForwardConfig C>
emulator::Counts run(const Case& c, u64 seed) {
  SCOPED_TRACE(text(c) + " seed " + std::to_string(seed));
  constexpr DType t = C.spec.dtype;
  constexpr i32 dim = C.spec.head_dim;
  std::mt19937_64 random(seed);
  const bool broadcast = c.strides == Strides::broadcast_batch || c.strides == Strides::broadcast_heads;
  Tensor q(c.strides == Strides::broadcast_heads ? Strides::contiguous : c.strides, c.batch, c.seqlen_q, c.heads_q, dim);
  Tensor k(c.strides, c.batch, c.seqlen_k, c.heads_kv, dim), v(c.strides, c.batch, c.seqlen_k, c.heads_kv, dim);
  Tensor out(broadcast ? Strides::contiguous : c.strides, c.batch, c.seqlen_q, c.heads_q, dim, c.out_fp32);
  std::vector<float> lse(std::size_t(c.batch) * c.heads_q * c.seqlen_q + 1);
  fill(q, t, c.data, 'q', c.batch, c.seqlen_q, c.heads_q, random);
  fill(k, t, c.data, 'k', c.batch, c.seqlen_k, c.heads_kv, random);
  fill(v, t, c.data, 'v', c.batch, c.seqlen_k, c.heads_kv, random);

  ForwardParams p{};
  p.q = q.layout, p.k = k.layout, p.v = v.layout, p.out = out.layout;
  p.shape = {c.batch, c.heads_q, c.heads_kv, c.seqlen_q, c.seqlen_k};
  p.window = c.window;
  p.scale_log2 = c.scale * 1.44269504088896f;
  p.q_tiles = ceil_div(c.seqlen_q, i32(C.tuning.rows));
  p.head_group = c.head_group;
  p.sm_count = 1;
  p.out_fp32 = c.out_fp32;
  p.lse = c.want_lse ? lse.data() : nullptr;
  p.q_map_batch = p.k_map_batch = p.v_map_batch = c.strides != Strides::broadcast_batch;
  p.q_map_head = true, p.k_map_head = p.v_map_head = c.strides != Strides::broadcast_heads;
  if (C.tuning.copy == Copy::bulk && c.seqlen_q > 0)
    p.q_map = emulator::make_tensor_map(p.q, 2, dim, c.seqlen_q, c.heads_q, p.q_map_batch ? c.batch : 1, 64, C.query_rows());
  if (C.tuning.copy == Copy::bulk && c.seqlen_k > 0) {
    const i32 heads = p.k_map_head ? c.heads_kv : 1, batch = p.k_map_batch ? c.batch : 1;
    p.k_map = emulator::make_tensor_map(p.k, 2, dim, c.seqlen_k, heads, batch, 64, C.tuning.keys);
    p.v_map = emulator::make_tensor_map(p.v, 2, dim, c.seqlen_k, heads, batch, 64, C.tuning.keys);
  }
  const Region rq("q", p.q, 2, c.batch, c.seqlen_q, c.heads_q, dim, Access::input);
  const Region rk("k", p.k, 2, c.batch, c.seqlen_k, c.heads_kv, dim, Access::input);
  const Region rv("v", p.v, 2, c.batch, c.seqlen_k, c.heads_kv, dim, Access::input);
  const Region ro("out", p.out, c.out_fp32 ? 4 : 2, c.batch, c.seqlen_q, c.heads_q, dim, Access::output);
  const Region rl("lse", lse.data(), i64(lse.size() - 1) * 4, Access::output);
  emulator::Config adversary{.name = "forward"};
  adversary.landing = seed % 2 ? emulator::Landing::late : emulator::Landing::at_once;
  adversary.warps = seed % 3 == 0 ? emulator::Warps::greedy : seed % 3 == 1 ? emulator::Warps::round_robin : emulator::Warps::random;
  adversary.blocks = seed % 2 ? emulator::Blocks::shuffled : emulator::Blocks::forward;
  adversary.seed = seed;
  const auto counts = emulator::launch(
      forward_blocks(p.shape, p.q_tiles), C.threads(), forward_shared(C).bytes, [&] { kernels::forward<C>(p); }, adversary);
  EXPECT_EQ(ro.unwritten(), 0);
  if (c.want_lse) {
    EXPECT_EQ(rl.unwritten(), 0);
  }
  compare(q, k, v, out, lse, t, c);
  return counts;
}

constexpr ForwardConfig config(DType t, u16 dim, MaskKind mask, ForwardTuning tuning) {
  return {{.dtype = t, .head_dim = dim, .value_dim = dim, .mask = mask}, tuning};
}
// The shapes of the tuned tables, by the names of the probes.
constexpr ForwardTuning f1{256, 64, 8, 16, 3, Copy::bulk, false, 1}, f2{128, 32, 4, 16, 3, Copy::bulk, false, 2},
    e1{256, 128, 8, 32, 3, Copy::bulk, true, 1}, e2{128, 64, 4, 32, 3, Copy::bulk, true, 2},
    f2_async{128, 32, 4, 16, 3, Copy::cp_async, false, 2}, e2_async{128, 64, 4, 32, 3, Copy::cp_async, true, 2},
    narrow128{64, 32, 4, 32, 3, Copy::cp_async, false, 2}, narrow64{64, 64, 4, 32, 3, Copy::cp_async, false, 2};

const std::vector<Case> unmasked_cases = {
    {1, 2, 1, 300, 300},
    {2, 2, 2, 129, 65, {}, 0.125f, Data::normal, Strides::padded_head_major},
    {1, 1, 1, 1, 1},
    {1, 1, 1, 17, 0},
    {1, 1, 1, 0, 17},
    {2, 1, 1, 64, 129, {}, -0.2f, Data::loud, Strides::broadcast_batch},
    {1, 4, 2, 15, 63, {}, 0.f, Data::loud, Strides::broadcast_heads},
    {1, 1, 1, 65, 200, {}, 1.f, Data::huge_equal},
    {1, 1, 1, 33, 300, {}, 0.088f, Data::offset},
    {1, 3, 1, 17, 300, {}, 0.3f, Data::rising, Strides::padded_head_major, true},
    {2, 2, 1, 140, 140, {}, 0.5f, Data::loud, Strides::contiguous, false, false, 2},
};
const std::vector<Case> band_cases = {
    {1, 2, 1, 300, 300, {none, 0}},
    {2, 2, 2, 129, 65, {none, 0}, 0.125f, Data::normal, Strides::padded_head_major},  // 64 dead rows
    {1, 2, 1, 65, 300, {none, 0}, 0.125f, Data::loud, Strides::contiguous, false, true, 2},
    {1, 1, 1, 300, 17, {none, 0}, -0.2f, Data::loud},
    {1, 1, 1, 1, 1, {none, 0}},
    {1, 1, 1, 15, 0, {none, 0}},
    {1, 1, 1, 0, 15, {none, 0}},
    {1, 1, 1, 300, 300, {20, 0}, 0.f},
    {1, 2, 2, 300, 280, {64, 33}, 0.3f, Data::loud, Strides::padded_head_major, true},
    {2, 1, 1, 129, 63, {5, 7}, 0.1f, Data::normal, Strides::broadcast_batch},
    {1, 1, 1, 130, 130, {-3, 40}, 0.2f},  // the diagonal itself is not visible
    {1, 1, 1, 130, 130, {40, -3}, 0.2f},
    {1, 1, 1, 65, 64, {none, 10}, 0.2f, Data::rising},
    {1, 1, 1, 300, 129, {100, none}, 0.2f, Data::rising},
    {1, 1, 1, 64, 64, {-5, -10}, 0.2f},  // nothing is visible
    {1, 1, 1, 65, 65, {none, 0}, 1.f, Data::huge_equal},
    {1, 1, 1, 64, 300, {none, none}, 0.088f, Data::offset},
    {1, 1, 1, 300, 300, {20, 0}, 0.088f, Data::offset},  // rows of a warp get their first key in different steps
    {1, 1, 1, 300, 300, {20, 0}, 0.01f, Data::offset},
};

template <ForwardConfig C>
void run_all() {
  u64 seed = 1;
  for (const Case& c : C.spec.mask == MaskKind::none ? unmasked_cases : band_cases) run<C>(c, seed++);
}

#define FORWARD_TEST(name, dtype, dim, mask, tuning) \
  TEST(ForwardEmulated, name) { run_all<config(DType::dtype, dim, MaskKind::mask, tuning)>(); }
FORWARD_TEST(f1_band, bf16, 128, band, f1)
FORWARD_TEST(f1_none, bf16, 128, none, f1)
FORWARD_TEST(f2_none, fp16, 128, none, f2)
FORWARD_TEST(f2_band, bf16, 128, band, f2)
FORWARD_TEST(e1_none, bf16, 64, none, e1)
FORWARD_TEST(e1_band, fp16, 64, band, e1)
FORWARD_TEST(e2_none, fp16, 64, none, e2)
FORWARD_TEST(e2_band, bf16, 64, band, e2)
FORWARD_TEST(f2_async_none, bf16, 128, none, f2_async)
FORWARD_TEST(f2_async_band, fp16, 128, band, f2_async)
FORWARD_TEST(e2_async_band, bf16, 64, band, e2_async)
FORWARD_TEST(narrow128_none, fp16, 128, none, narrow128)
FORWARD_TEST(narrow128_band, bf16, 128, band, narrow128)
FORWARD_TEST(narrow64_band, fp16, 64, band, narrow64)

// Random problems; SPEEDLIGHT_EMULATED_CASES asks for more of them.
Case random_case(std::mt19937_64& random) {
  const auto pick = [&](i64 lo, i64 hi) { return std::uniform_int_distribution<i64>(lo, hi)(random); };
  Case c{};
  c.batch = i32(pick(1, 2));
  c.heads_kv = i32(pick(1, 2));
  c.heads_q = c.heads_kv * i32(pick(1, 2));
  c.seqlen_q = i32(pick(0, 3) == 0 ? pick(1, 20) : pick(1, 200));
  c.seqlen_k = i32(pick(0, 3) == 0 ? pick(0, 20) : pick(1, 300));
  c.window = {pick(0, 1) ? none : pick(-10, 150), pick(0, 2) == 0 ? none : pick(0, 1) ? 0 : pick(-20, 60)};
  c.scale = float(pick(-100, 400)) * 0.001f;
  c.data = Data(pick(0, 4));
  c.strides = Strides(pick(0, 3));
  c.out_fp32 = pick(0, 3) == 0;
  c.want_lse = pick(0, 3) != 0;
  c.head_group = pick(0, 1) ? c.heads_q : 1;
  return c;
}

template <ForwardConfig C>
void run_random() {
  const char* asked = std::getenv("SPEEDLIGHT_EMULATED_CASES");
  const i32 cases = asked != nullptr ? std::atoi(asked) : 8;
  std::mt19937_64 random(u64(C.tuning.rows) * 1000 + C.spec.head_dim);
  for (i32 i = 0; i < cases; ++i) run<C>(random_case(random), random());
}
TEST(ForwardEmulated, random_f2) { run_random<config(DType::bf16, 128, MaskKind::band, f2)>(); }
TEST(ForwardEmulated, random_e1) { run_random<config(DType::fp16, 64, MaskKind::band, e1)>(); }
TEST(ForwardEmulated, random_narrow64) { run_random<config(DType::bf16, 64, MaskKind::band, narrow64)>(); }

TEST(ForwardSchedule, every_tile_of_every_head_once) {
  for (const bool last_first : {false, true})
    for (const i32 group : {1, 2, 3, 12}) {
      const AttentionShape shape{3, 4, 2, 1, 1};
      const i32 q_tiles = 5;
      std::vector<int> seen(std::size_t(3 * 4 * 5), 0);
      for (u32 block = 0; block < forward_blocks(shape, q_tiles); ++block) {
        const ForwardPlace place = forward_place(block, shape, q_tiles, group, last_first);
        ASSERT_EQ(place.head_kv, place.head / 2);
        ++seen[std::size_t((place.batch * 4 + place.head) * 5 + place.tile)];
      }
      for (int n : seen) EXPECT_EQ(n, 1);
    }
  static_assert(forward_place(0, {3, 4, 2, 1, 1}, 5, 1, true).tile == 4, "the heaviest tile goes first");
}

TEST(ForwardSchedule, rows_are_dealt_once_and_schedulers_balanced) {
  for (const i32 warps : {1, 2, 4, 8, 12, 16})
    for (const bool mirrored : {false, true}) {
      u32 seen = 0;
      for (i32 w = 0; w < warps; ++w) seen |= 1u << dealt_rows(w, warps, mirrored);
      EXPECT_EQ(seen, (1u << warps) - 1);
    }
  for (i32 w = 0; w < 4; ++w) {
    EXPECT_EQ(dealt_rows(w, 8, false) + dealt_rows(w + 4, 8, false), 7);
    EXPECT_EQ(dealt_rows(w, 4, false) + dealt_rows(w, 4, true), 3);
  }
}

}  // namespace
}  // namespace speedlight
