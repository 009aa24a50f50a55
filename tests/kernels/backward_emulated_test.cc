// Backward on the emulator: preprocess, main and postprocess kernels of several configs over small ugly problems, against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "config/backward_grid.h"
#include "config/backward_shared.h"
#include "cpu/compare.h"
#include "cpu/element.h"
#include "kernels/backward.h"
#include "kernels/backward_postprocess.h"
#include "kernels/backward_preprocess.h"
#include "launch.h"
#include "memory.h"
#include "tensor_map.h"

namespace speedlight {
namespace {

constexpr Window causal{Window::unlimited, 0};

struct Case {
  i64 batch = 1, heads_q = 1, heads_kv = 1, seqlen_q = 64, seqlen_k = 128;
  Window window = {};
  float scale = 0.125f;
  bool dlse = false, fp32_gradients = false, fp32_out = false;
  bool want_dq = true, want_dk = true, want_dv = true;
  float magnitude = 1;             // of q and k
  float outlier = 1;               // one element in 64 of q is this much larger
  float first_q = 0, first_k = 0;  // column 0 of q and k, if not 0
  float constant = 0;              // every element of every input, if not 0
  bool cyclic = true;              // of ordered adds without a mask
};

// A tensor with storage of its own; `arrangement` picks strides: contiguous, heads outside of rows, or rows with gaps.
struct Tensor {
  TensorLayout layout;
  std::vector<u16> storage;

  Tensor(DType dtype, i64 batch, i64 rows, i64 heads, i64 dim, int arrangement) {
    layout = contiguous(dtype, rows, heads, dim);
    if (arrangement == 1) layout.row = dim, layout.head = rows * dim;
    if (arrangement == 2) layout.row = heads * (dim + 8) + 8, layout.head = dim + 8, layout.batch = rows * layout.row + 24;
    storage.resize((batch * std::max(layout.batch, rows * layout.row) + heads * layout.head + dim) * size_of(dtype) / 2 + 8, 0x7fff);
  }
  StridedTensor strided() { return {storage.data(), layout.batch, layout.row, layout.head}; }
};

template <class Set>
void for_each_element(const TensorLayout& l, i64 batch, i64 rows, i64 heads, i64 dim, Set set) {
  i64 flat = 0;
  for (i64 b = 0; b < batch; ++b)
    for (i64 s = 0; s < rows; ++s)
      for (i64 h = 0; h < heads; ++h)
        for (i64 d = 0; d < dim; ++d) set(b * l.batch + s * l.row + h * l.head + d, flat++);
}

struct Run {
  Problem problem;
  Tensor q, k, v, out, dout, dq, dk, dv;
  std::vector<float> lse, dlse;
  Pointers pointers;
  reference::Values truth;

  Run(const Case& c, const Spec& spec, u32 seed)
      : q(spec.dtype, c.batch, c.seqlen_q, c.heads_q, spec.head_dim, seed % 3),
        k(spec.dtype, c.batch, c.seqlen_k, c.heads_kv, spec.head_dim, (seed + 1) % 3),
        v(spec.dtype, c.batch, c.seqlen_k, c.heads_kv, spec.head_dim, (seed + 2) % 3),
        out(c.fp32_out ? DType::fp32 : spec.dtype, c.batch, c.seqlen_q, c.heads_q, spec.head_dim, seed / 2 % 3),
        dout(spec.dtype, c.batch, c.seqlen_q, c.heads_q, spec.head_dim, (seed / 2 + 1) % 3),
        dq(gradient_type(c, spec), c.batch, c.seqlen_q, c.heads_q, spec.head_dim, (seed / 2 + 2) % 3),
        dk(gradient_type(c, spec), c.batch, c.seqlen_k, c.heads_kv, spec.head_dim, seed / 3 % 3),
        dv(gradient_type(c, spec), c.batch, c.seqlen_k, c.heads_kv, spec.head_dim, (seed / 3 + 1) % 3) {
    auto& p = problem;
    p.batch = c.batch, p.heads_q = c.heads_q, p.heads_kv = c.heads_kv, p.seqlen_q = c.seqlen_q, p.seqlen_k = c.seqlen_k;
    p.head_dim = p.value_dim = spec.head_dim, p.dtype = spec.dtype, p.scale = c.scale, p.window = c.window, p.has_dlse = c.dlse;
    p.q = q.layout, p.k = k.layout, p.v = v.layout, p.out = out.layout, p.dout = dout.layout, p.dq = dq.layout, p.dk = dk.layout,
    p.dv = dv.layout;
    p.want_dq = c.want_dq, p.want_dk = c.want_dk, p.want_dv = c.want_dv;
    fill_inputs(c, seed);
    pointers = {q.storage.data(),
                k.storage.data(),
                v.storage.data(),
                out.storage.data(),
                lse.data(),
                dout.storage.data(),
                c.dlse ? dlse.data() : nullptr,
                c.want_dq ? dq.storage.data() : nullptr,
                c.want_dk ? dk.storage.data() : nullptr,
                c.want_dv ? dv.storage.data() : nullptr};
    truth = reference::compute(p, pointers, true, reference::Arithmetic::float64);
    for (i64 i = 0; i < i64(lse.size()); ++i) lse[i] = float(truth.lse[i]);
    for_each_element(p.out, p.batch, p.seqlen_q, p.heads_q, p.head_dim,
                     [&](i64 at, i64 flat) { write_element(out.storage.data(), at, p.out.dtype, float(truth.out[flat])); });
  }

  static DType gradient_type(const Case& c, const Spec& spec) { return c.fp32_gradients ? DType::fp32 : spec.dtype; }

  void fill_inputs(const Case& c, u32 seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](Tensor& t, i64 rows, i64 heads, float magnitude, float outlier, float first) {
      for_each_element(t.layout, c.batch, rows, heads, problem.head_dim, [&](i64 at, i64 flat) {
        float value = normal(random) * magnitude * (random() % 64 == 0 ? outlier : 1);
        if (first != 0 && flat % problem.head_dim == 0) value = first;
        write_element(t.storage.data(), at, t.layout.dtype, c.constant != 0 ? c.constant : value);
      });
    };
    fill(q, c.seqlen_q, c.heads_q, c.magnitude, c.outlier, c.first_q);
    fill(k, c.seqlen_k, c.heads_kv, c.magnitude, 1, c.first_k);
    fill(v, c.seqlen_k, c.heads_kv, 1, 1, 0);
    fill(dout, c.seqlen_q, c.heads_q, 1, 1, 0);
    lse.resize(c.batch * c.heads_q * c.seqlen_q);
    dlse.resize(lse.size());
    for (float& x : dlse) x = normal(random);
  }
};

using emulator::Access;
using emulator::Region;

// As a plan does where no key adds to any query row.
constexpr BackwardConfig unordered(BackwardConfig c) {
  c.spec.determinism = Determinism::none;
  c.tuning.finish = false;
  return c;
}

// Registers the memory, launches what a plan would launch, checks that everything wanted was written.
template <BackwardConfig Asked>
void launch_backward(Run& run, emulator::Config adversary, bool cyclic) {
  const Problem& p = run.problem;
  if constexpr (Asked.ordered()) {
    if (!p.want_dq || p.seqlen_q == 0 || p.seqlen_k == 0) return launch_backward<unordered(Asked)>(run, adversary, cyclic);
  }
  constexpr BackwardConfig C = Asked;
  BackwardParams params{};
  params.q = run.q.strided(), params.k = run.k.strided(), params.v = run.v.strided(), params.out = run.out.strided(),
  params.dout = run.dout.strided();
  params.dq = run.dq.strided(), params.dk = run.dk.strided(), params.dv = run.dv.strided();
  if (!p.want_dq) params.dq.data = nullptr;
  if (!p.want_dk) params.dk.data = nullptr;
  if (!p.want_dv) params.dv.data = nullptr;
  params.lse = run.lse.data(), params.dlse = run.pointers.dlse;
  params.shape = {i32(p.batch), i32(p.heads_q), i32(p.heads_kv), i32(p.seqlen_q), i32(p.seqlen_k)};
  params.window = p.window, params.scale = p.scale, params.scale_log2 = float(double(p.scale) * 1.4426950408889634);
  params.q_tiles = i32(ceil_div<i64>(p.seqlen_q, C.tuning.rows)), params.k_tiles = i32(ceil_div<i64>(p.seqlen_k, C.tuning.keys));
  params.rows_padded = params.q_tiles * C.tuning.rows;
  params.head_group = params.shape.heads_kv;
  params.out_fp32 = p.out.dtype == DType::fp32, params.dq_fp32 = params.dk_fp32 = params.dv_fp32 = p.dq.dtype == DType::fp32;

  const i64 padded = p.batch * p.heads_q * params.rows_padded;
  std::vector<float> row_lse2(padded), row_delta(padded), accumulator(p.want_dq ? padded * p.head_dim : 0);
  std::vector<u32> turns(C.ordered() ? p.batch * p.heads_q * params.q_tiles : 0);
  u32 ticket = 0;
  if (C.ordered()) params.dq_turns = turns.data(), params.ticket = &ticket, params.cyclic = cyclic;
  Region rt("dq_turns", params.dq_turns, i64(turns.size() * 4), Access::output),
      rk1("ticket", params.ticket, C.ordered() ? 4 : 0, Access::output);
  params.row_lse2 = row_lse2.data(), params.row_delta = row_delta.data(), params.dq_accumulator = p.want_dq ? accumulator.data() : nullptr;

  const i32 gradient_bytes = i32(size_of(p.dq.dtype));
  const i64 b = p.batch, sq = p.seqlen_q, sk = p.seqlen_k, hq = p.heads_q, hk = p.heads_kv, d = p.head_dim;
  Region rq("q", params.q, 2, b, sq, hq, d, Access::input), rk("k", params.k, 2, b, sk, hk, d, Access::input);
  Region rv("v", params.v, 2, b, sk, hk, d, Access::input), rdo("dout", params.dout, 2, b, sq, hq, d, Access::input);
  Region ro("out", params.out, i32(size_of(p.out.dtype)), b, sq, hq, d, Access::input);
  Region rl("lse", params.lse, i64(run.lse.size() * 4), Access::input),
      rdl("dlse", params.dlse, params.dlse ? i64(run.dlse.size() * 4) : 0, Access::input);
  Region rl2("row_lse2", params.row_lse2, padded * 4, Access::output), rd("row_delta", params.row_delta, padded * 4, Access::output);
  Region ra("dq_accumulator", params.dq_accumulator, i64(accumulator.size() * 4), Access::output);
  Region rdq("dq", params.dq, gradient_bytes, p.want_dq ? b : 0, sq, hq, d, Access::output);
  Region rdk("dk", params.dk, gradient_bytes, p.want_dk ? b : 0, sk, hk, d, Access::output);
  Region rdv("dv", params.dv, gradient_bytes, p.want_dv ? b : 0, sk, hk, d, Access::output);

  constexpr PreprocessConfig pre{{.dtype = C.spec.dtype, .head_dim = C.spec.head_dim, .value_dim = C.spec.value_dim}};
  constexpr PostprocessConfig post{pre.spec, C.dq_layout()};
  if (const i64 grid = preprocess_grid(params.shape, params.rows_padded); grid > 0)
    emulator::launch(
        u32(grid), pre.threads(), 0, [&] { kernels::backward_preprocess<pre>(params); }, adversary);
  if (C.tuning.bulk_loads && sq > 0) {
    params.q_map = emulator::make_tensor_map(params.q, 2, i32(d), i32(sq), i32(hq), i32(b), 64, C.tuning.rows);
    params.dout_map = emulator::make_tensor_map(params.dout, 2, i32(d), i32(sq), i32(hq), i32(b), 64, C.tuning.rows);
    params.q_map_head = params.q_map_batch = params.dout_map_head = params.dout_map_batch = true;
  }
  if (params.cyclic) adversary.resident = std::max(adversary.resident, params.k_tiles);
  if (const i64 grid = backward_grid(params.shape, params.k_tiles); grid > 0)
    emulator::launch(
        u32(grid), C.threads(), backward_shared(C).bytes, [&] { kernels::backward<C>(params); }, adversary);
  if (const i64 grid = postprocess_grid(params.shape, params.q_tiles, post.layout); grid > 0 && p.want_dq && !C.finishes())
    emulator::launch(
        u32(grid), post.threads(), 0, [&] { kernels::backward_postprocess<post>(params); }, adversary);
  EXPECT_EQ(rdq.unwritten(), 0);
  EXPECT_EQ(rdk.unwritten(), 0);
  EXPECT_EQ(rdv.unwritten(), 0);
}

emulator::Config adversary_of(u32 seed) {
  emulator::Config adversary;
  adversary.landing = seed % 2 ? emulator::Landing::late : emulator::Landing::at_once;
  adversary.warps = emulator::Warps(seed % 3);
  adversary.blocks = emulator::Blocks(seed / 2 % 3);
  adversary.seed = seed;
  adversary.name = "backward";
  return adversary;
}

template <BackwardConfig C>
void check(const Case& c, u32 seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ": batch " << c.batch << " heads " << c.heads_q << '/' << c.heads_kv << " seqlen "
                                  << c.seqlen_q << '/' << c.seqlen_k << " window " << c.window.left << ' ' << c.window.right << " scale "
                                  << c.scale);
  Run run(c, C.spec, seed);
  try {
    launch_backward<C>(run, adversary_of(seed), c.cyclic);
  } catch (const emulator::Fault& fault) {
    FAIL() << fault.what();
  }
  const auto plain = reference::compute(run.problem, run.pointers, true, reference::Arithmetic::plain);
  const auto result = reference::compare(run.problem, run.pointers, run.truth, plain, true);
  EXPECT_TRUE(result.pass) << result.text();
}

// Which config a test instance runs.
constexpr BackwardTuning a1{.rows = 32, .keys = 128, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .blocks = 2};
constexpr BackwardTuning a2{
    .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .dq_warps_m = 2, .dq_warps_n = 2, .blocks = 2};
constexpr BackwardTuning single128{.rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .dq_warps_m = 2, .dq_warps_n = 4};
constexpr BackwardTuning small64{.rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .blocks = 2};
constexpr BackwardTuning wide128{.rows = 32, .keys = 128, .warps = 8, .dq_warps_m = 1, .dq_warps_n = 8};
constexpr BackwardTuning small128{
    .rows = 32, .keys = 64, .warps = 4, .q_stages = 2, .v_registers = true, .dq_warps_m = 1, .dq_warps_n = 4, .blocks = 2};
constexpr BackwardTuning split128{.schedule = BackwardSchedule::split,
                                  .rows = 32,
                                  .keys = 128,
                                  .warps = 8,
                                  .q_stages = 2,
                                  .do_stages = 2,
                                  .v_registers = true,
                                  .bulk_loads = true,
                                  .dq_warps_m = 1,
                                  .dq_warps_n = 4};

constexpr BackwardTuning with_bulk_loads(BackwardTuning t) {
  t.bulk_loads = true;
  return t;
}
constexpr BackwardTuning finishing(BackwardTuning t) {
  t.finish = true;
  return t;
}
constexpr BackwardTuning for_sm_80(BackwardTuning t) {
  t.add = VectorAdd::scalar;
  t.store = MatrixStore::plain;
  return t;
}
constexpr BackwardTuning two_stages(BackwardTuning t) {
  t.q_stages = t.do_stages = 2;
  return t;
}
constexpr BackwardConfig config(DType dtype, u16 dim, MaskKind mask, BackwardTuning tuning, Determinism determinism) {
  return {{.dtype = dtype, .head_dim = dim, .value_dim = dim, .mask = mask, .determinism = determinism}, tuning};
}

template <class T>
class Backward : public testing::Test {};
template <DType Type, u16 Dim, BackwardTuning Tuning, Determinism How = Determinism::none>
struct Variant {
  static constexpr BackwardConfig none = config(Type, Dim, MaskKind::none, Tuning, How),
                                  band = config(Type, Dim, MaskKind::band, Tuning, How);
};
template <DType Type, u16 Dim, BackwardTuning Tuning>
using Ordered = Variant<Type, Dim, Tuning, Determinism::run_to_run>;
using Variants =
    testing::Types<Variant<DType::bf16, 64, a1>, Variant<DType::fp16, 64, a2>, Variant<DType::bf16, 64, for_sm_80(a2)>,
                   Variant<DType::fp16, 64, two_stages(a1)>, Variant<DType::bf16, 128, single128>,
                   Variant<DType::fp16, 128, for_sm_80(single128)>, Variant<DType::fp16, 128, split128>,
                   Variant<DType::bf16, 64, with_bulk_loads(a2)>, Variant<DType::bf16, 128, for_sm_80(split128)>,
                   Variant<DType::fp16, 64, small64>, Variant<DType::bf16, 128, wide128>, Variant<DType::fp16, 128, for_sm_80(small128)>,
                   Ordered<DType::bf16, 64, a2>, Ordered<DType::bf16, 128, split128>, Ordered<DType::fp16, 128, for_sm_80(single128)>,
                   Ordered<DType::fp16, 64, finishing(a2)>, Ordered<DType::bf16, 128, finishing(split128)>,
                   Ordered<DType::bf16, 128, for_sm_80(finishing(single128))>>;
TYPED_TEST_SUITE(Backward, Variants);

TYPED_TEST(Backward, WithoutMask) {
  check<TypeParam::none>({.seqlen_q = 64, .seqlen_k = 128}, 1);
  check<TypeParam::none>({.batch = 2, .heads_q = 2, .heads_kv = 1, .seqlen_q = 65, .seqlen_k = 129, .dlse = true}, 2);
  check<TypeParam::none>({.heads_q = 2, .heads_kv = 2, .seqlen_q = 31, .seqlen_k = 127, .scale = -0.2f, .fp32_gradients = true}, 3);
  check<TypeParam::none>({.seqlen_q = 97, .seqlen_k = 1, .fp32_out = true}, 4);
  check<TypeParam::none>({.seqlen_q = 1, .seqlen_k = 40, .scale = 0, .dlse = true}, 5);
}

TYPED_TEST(Backward, Empty) {
  check<TypeParam::none>({.batch = 2, .heads_q = 2, .heads_kv = 1, .seqlen_q = 0, .seqlen_k = 130}, 6);
  check<TypeParam::none>({.seqlen_q = 40, .seqlen_k = 0}, 7);
  check<TypeParam::band>({.seqlen_q = 0, .seqlen_k = 33, .window = causal}, 8);
}

TYPED_TEST(Backward, Causal) {
  check<TypeParam::band>({.seqlen_q = 160, .seqlen_k = 160, .window = causal}, 9);
  check<TypeParam::band>({.heads_q = 3, .heads_kv = 1, .seqlen_q = 70, .seqlen_k = 200, .window = causal, .dlse = true}, 10);
  check<TypeParam::band>({.batch = 2, .seqlen_q = 180, .seqlen_k = 50, .window = causal, .dlse = true, .outlier = 8},
                         11);  // rows without keys
}

TYPED_TEST(Backward, Windows) {
  check<TypeParam::band>({.heads_q = 2, .heads_kv = 1, .seqlen_q = 150, .seqlen_k = 290, .window = {20, 7}}, 12);
  check<TypeParam::band>({.seqlen_q = 129, .seqlen_k = 260, .window = {-3, Window::unlimited}, .fp32_gradients = true}, 13);
  check<TypeParam::band>({.seqlen_q = 40, .seqlen_k = 300, .window = {0, 0}, .scale = -0.125f}, 14);  // keys without rows
}

TYPED_TEST(Backward, OnlyWhatIsWanted) {
  check<TypeParam::none>({.seqlen_q = 33, .seqlen_k = 50, .want_dq = false}, 15);
  // Without the dQ product between them, roles of the split schedule may run apart: many tiles, many orders.
  for (u32 seed = 100; seed < 148; ++seed) {
    check<TypeParam::none>({.seqlen_q = 260, .seqlen_k = 50, .want_dq = false}, seed);
    check<TypeParam::band>({.seqlen_q = 260, .seqlen_k = 50, .window = causal, .want_dq = false}, seed);
  }
  check<TypeParam::band>({.seqlen_q = 33, .seqlen_k = 50, .window = causal, .want_dk = false}, 16);
  check<TypeParam::band>({.seqlen_q = 33, .seqlen_k = 50, .window = causal, .want_dv = false}, 17);
}

// LSE far below zero: exp(0 - LSE), the score of a key that is not there, overflows.
TYPED_TEST(Backward, VeryNegativeScores) {
  check<TypeParam::none>({.seqlen_q = 50, .seqlen_k = 65, .magnitude = 0.1f, .first_q = 1, .first_k = -960}, 18);
  check<TypeParam::band>({.seqlen_q = 70, .seqlen_k = 40, .window = causal, .magnitude = 0.1f, .first_q = 1, .first_k = -960}, 19);
}

// Logits so large that they and their LSE are rounded apart by thousands: P is 1 all the same.
TYPED_TEST(Backward, HugeEqualLogits) {
  if (TypeParam::none.spec.dtype == DType::bf16) check<TypeParam::none>({.seqlen_q = 1, .seqlen_k = 1, .constant = 133120}, 20);
  check<TypeParam::none>({.seqlen_q = 3, .seqlen_k = 1, .scale = 100, .constant = 200}, 21);
}

template <class T>
class OrderedBackward : public testing::Test {};
using OrderedVariants = testing::Types<Ordered<DType::bf16, 64, a2>, Ordered<DType::fp16, 64, for_sm_80(a1)>,
                                       Ordered<DType::bf16, 128, split128>, Ordered<DType::fp16, 64, with_bulk_loads(a2)>,
                                       Ordered<DType::bf16, 64, finishing(a2)>, Ordered<DType::fp16, 128, finishing(split128)>>;
TYPED_TEST_SUITE(OrderedBackward, OrderedVariants);

// The same bits whoever runs first, however many blocks run together.
template <BackwardConfig C>
void check_bits(const Case& c) {
  std::vector<u16> first;
  for (u32 seed = 0; seed < 6; ++seed) {
    Run run(c, C.spec, 3);
    emulator::Config adversary = adversary_of(seed);
    adversary.resident = 1 + i32(seed);
    try {
      launch_backward<C>(run, adversary, c.cyclic);
    } catch (const emulator::Fault& fault) {
      FAIL() << fault.what();
    }
    if (seed == 0) first = run.dq.storage;
    EXPECT_EQ(first, run.dq.storage) << "seed " << seed << ", seqlen " << c.seqlen_q << '/' << c.seqlen_k;
  }
}

TYPED_TEST(OrderedBackward, SameBits) {
  for (const bool cyclic : {true, false}) {
    check_bits<TypeParam::none>({.heads_q = 2, .heads_kv = 1, .seqlen_q = 200, .seqlen_k = 400, .cyclic = cyclic});
    check_bits<TypeParam::none>({.seqlen_q = 300, .seqlen_k = 140, .cyclic = cyclic});
    check_bits<TypeParam::none>({.seqlen_q = 50, .seqlen_k = 600, .cyclic = cyclic});
    check_bits<TypeParam::none>({.seqlen_q = 65, .seqlen_k = 520, .cyclic = cyclic});
  }
  check_bits<TypeParam::band>({.heads_q = 2, .heads_kv = 1, .seqlen_q = 300, .seqlen_k = 300, .window = causal});
  check_bits<TypeParam::band>({.seqlen_q = 300, .seqlen_k = 100, .window = causal});
  check_bits<TypeParam::band>({.seqlen_q = 100, .seqlen_k = 300, .window = {130, 20}});
  check_bits<TypeParam::band>({.seqlen_q = 260, .seqlen_k = 390, .window = {-70, Window::unlimited}});
  check_bits<TypeParam::band>({.seqlen_q = 260, .seqlen_k = 260, .window = {Window::unlimited, -60}});
}

}  // namespace
}  // namespace speedlight
