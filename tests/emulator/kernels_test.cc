// Every shipped kernel on the emulator, over adversarial shapes and adversary modes, against float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/compare.h"
#include "cpu/element.h"
#include "plan/tables.h"
#include "planned/run_plan.h"
#include "tools/case.h"

namespace speedlight {
namespace {

struct Shape {
  const char* name;
  i64 batch, heads_q, heads_kv, seqlen_q, seqlen_k;
  Window window;
  enum Layout { dense, heads_first, padded, misaligned, broadcast } layout = dense;
  bool fp32 = false, dlse = false, outliers = false;
  float scale = 1;  // times 1 / sqrt(head_dim)
  float shift = 0;  // moves all logits by 16 * shift * scale
};

// Around the edges of tiles of `rows` queries and `keys` keys; `deep` keys run a ring around. A band kernel gets causal problems and windows.
std::vector<Shape> shapes(i64 rows, i64 keys, i64 deep, bool band) {
  const Window mask = band ? Window{Window::unlimited, 0} : Window{}, window = band ? Window{keys / 2 + 3, 5} : Window{};
  const Window edge = band ? Window{33, -2} : Window{};  // its ends lie one key inside tiles of 16, where a step is just touched
  return {
      {"one", 1, 1, 1, 1, 1, mask},
      {"tile plus one", 1, 2, 2, rows + 1, keys + 1, mask, Shape::heads_first, false, true},
      {"tile less one", 2, 1, 1, rows - 1, keys - 1, mask, Shape::padded},
      {"whole tiles, ring around", 1, 1, 1, rows, deep * keys, mask, Shape::dense, true, true},
      {"more queries than keys", 1, 2, 1, 2 * rows + 3, keys + 5, mask, Shape::dense, false, true},
      {"more keys than queries", 1, 4, 2, rows / 2 + 1, 2 * keys + 17, mask, Shape::padded, false, false, true, 2},
      {"window", 1, 1, 1, rows + 9, deep * keys - 7, window, Shape::dense, true},
      {"window at the edge of tiles", 1, 1, 1, rows + 48, rows + 48, edge, Shape::dense, false, true},
      {"diagonal just inside a tile", 1, 1, 1, 200, 262, mask},
      {"left edge just inside a tile", 1, 1, 1, 200, 262, band ? Window{60, Window::unlimited} : Window{}},
      {"one key a row", 1, 1, 1, rows + 1, rows + 1, band ? Window{0, 0} : Window{}},
      {"logits far below 0", 1, 1, 1, rows - 3, 2 * keys - 1, mask, Shape::dense, false, false, false, 1, -100},
      {"window over a tail, far below 0", 1, 1, 1, 40, 2 * keys - 1, band ? Window{keys + 50, 90} : Window{}, Shape::dense, false, true,
       false, 1, -100},
      {"misaligned", 2, 2, 1, 33, keys + 1, mask, Shape::misaligned, false, true, true},
      {"broadcast, negative scale", 2, 2, 2, 40, keys - 1, mask, Shape::broadcast, false, false, false, -0.5f},
      {"no keys", 1, 1, 1, 5, 0, mask},
      {"no queries", 1, 2, 1, 0, keys + 1, mask},
      {"scale 0", 1, 1, 1, 17, 19, mask, Shape::dense, false, false, false, 0},
  };
}

TensorLayout layout(Shape::Layout kind, DType dtype, i64 rows, i64 heads, i64 dim, bool input) {
  switch (kind) {
    case Shape::heads_first: return {dtype, heads * rows * dim, dim, rows * dim, 16};
    case Shape::padded: return {dtype, rows * (heads * (dim + 8) + 16), heads * (dim + 8) + 16, dim + 8, 16};
    case Shape::misaligned: return {dtype, rows * (heads * (dim + 3) + 1) + 4, heads * (dim + 3) + 1, dim + 3, u32(size_of(dtype))};
    case Shape::broadcast:
      if (input) return {dtype, 0, dim, 0, 16};
      break;
    case Shape::dense: break;
  }
  return contiguous(dtype, rows, heads, dim);
}

cli::Case make_case(const Shape& s, const Spec& spec) {
  const DType dtype = spec.dtype;
  const i64 dim = spec.head_dim;
  cli::Case c;
  Problem& p = c.problem;
  p.batch = s.batch, p.heads_q = s.heads_q, p.heads_kv = s.heads_kv, p.seqlen_q = s.seqlen_q, p.seqlen_k = s.seqlen_k;
  p.head_dim = p.value_dim = dim;
  p.dtype = dtype;
  p.determinism = spec.determinism;
  const DType result = s.fp32 ? DType::fp32 : dtype;
  const auto per_query = [&](DType t, bool input) {
    return layout(s.layout, t, s.seqlen_q, s.heads_q, dim, input && s.layout != Shape::broadcast);
  };
  const auto per_key = [&](DType t, bool input) { return layout(s.layout, t, s.seqlen_k, s.heads_kv, dim, input); };
  p.q = p.dout = per_query(dtype, true), p.k = p.v = per_key(dtype, true);
  p.out = p.dq = per_query(result, false), p.dk = p.dv = per_key(result, false);
  p.scale = float(s.scale / std::sqrt(double(dim)));
  p.window = s.window;
  p.has_dlse = s.dlse;
  c.seed = u64(s.seqlen_q * 1000 + s.seqlen_k);
  c.outlier = s.outliers ? 30 : 1;
  c.shift = s.shift;
  return c;
}

// Row i of an orthogonal array: nine rows meet every pair of values.
emulator::Config modes(i32 i) {
  const i32 a = i % 3, b = i / 3 % 3, c = (a + b) % 3;
  return {.landing = a == 0 ? emulator::Landing::at_once : emulator::Landing::late,
          .warps = emulator::Warps(b),
          .blocks = emulator::Blocks(c),
          .seed = u64(i + 1),
          .resident = 1 + i % 3};
}

DeviceFacts card_for(const KernelConfig& config) {
  return *find_card(runs_on(config, 80) ? "a100" : runs_on(config, 120) ? "rtx5090" : "h100");
}

// Bytes of an arena at the alignment that its pointers assume.
struct Bytes {
  explicit Bytes(const std::vector<u8>& from) : storage(from.size() + 256), size(from.size()) { std::memcpy(data(), from.data(), size); }
  u8* data() { return storage.data() + (256 - reinterpret_cast<std::uintptr_t>(storage.data()) % 256) % 256; }
  std::vector<u8> storage;
  std::size_t size;
};

// Runs the plan and compares with float64. Backward gets the forward's results from the reference: it alone is under test.
void run_case(const cli::Case& c, const Plan& plan, const emulator::Config& config) {
  const Problem& p = c.problem;
  const bool backward = plan.pass == Pass::backward;
  cli::Arena arena(c, plan.workspace.total);
  Bytes memory(arena.bytes());
  const Pointers pointers = arena.pointers(memory.data());
  const auto exact = reference::compute(p, pointers, backward, reference::Arithmetic::float64);
  if (backward) {
    i64 i = 0;
    for (i64 b = 0; b < p.batch; ++b)
      for (i64 r = 0; r < p.seqlen_q; ++r)
        for (i64 h = 0; h < p.heads_q; ++h)
          for (i64 d = 0; d < p.value_dim; ++d, ++i) {
            const i64 at = b * p.out.batch + r * p.out.row + h * p.out.head + d;
            write_element(pointers.out, at, p.out.dtype, float(exact.out[i]));
          }
    for (std::size_t j = 0; j < exact.lse.size(); ++j) pointers.lse[j] = float(exact.lse[j]);
  }
  const auto plain = reference::compute(p, pointers, backward, reference::Arithmetic::plain);
  emulator::run_plan(plan, pointers, config);
  const auto comparison = reference::compare(p, pointers, exact, plain, backward);
  EXPECT_TRUE(comparison.pass) << c.text() << "\n" << comparison.text();
}

class Kernels : public testing::TestWithParam<std::string> {};

TEST_P(Kernels, match_float64) {
  const KernelConfig config = parse_config(GetParam());
  const DeviceFacts card = card_for(config);
  i32 number = 0;
  const auto run = [&](const Spec& spec, i64 rows, i64 keys, i64 deep, const auto& plan) {
    for (const Shape& s : shapes(rows, keys, deep, spec.mask == MaskKind::band)) {
      SCOPED_TRACE(s.name);
      const cli::Case c = make_case(s, spec);
      const emulator::Config mode = modes(number++);
      try {
        const Plan planned = plan(c.problem);
        const auto same = [&](const PlannedLaunch& l) { return l.config == config; };
        // A mask that hides nothing is planned as no mask: another config's case.
        if (!planned.launches.empty() && std::ranges::none_of(planned.launches, same)) continue;
        run_case(c, planned, mode);
      } catch (const std::exception& e) {
        ADD_FAILURE() << c.text() << "\n" << e.what();
      }
      if (testing::Test::HasFailure()) break;
    }
  };
  if (const auto* f = std::get_if<ForwardConfig>(&config))
    run(f->spec, f->tuning.rows, f->tuning.keys, 2 * f->tuning.stages + 1,
        [&](const Problem& p) { return plan_forward(p, card, &f->tuning); });
  if (const auto* b = std::get_if<BackwardConfig>(&config))
    run(b->spec, b->tuning.rows, b->tuning.keys, 2, [&](const Problem& p) { return plan_backward(p, card, &b->tuning); });
}

std::vector<std::string> main_kernels() {
  std::vector<std::string> list;
  for (const auto& [text, entry] : emulator::kernels())
    if (text.starts_with("fwd") || text.starts_with("bwd.")) list.push_back(text);
  return list;
}

INSTANTIATE_TEST_SUITE_P(shipped, Kernels, testing::ValuesIn(main_kernels()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace speedlight
