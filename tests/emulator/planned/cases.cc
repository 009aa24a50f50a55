#include "planned/cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/element.h"
#include "planned/run_plan.h"

namespace speedlight::emulator {
namespace {

struct Shape {
  const char* name;
  i64 batch, heads_q, heads_kv, seqlen_q, seqlen_k;
  Window window;
  enum Layout { dense, heads_first, padded, misaligned, broadcast } layout = dense;
  bool fp32 = false, dlse = false, outliers = false;
  float scale = 1;  // times 1 / sqrt(head_dim)
  float shift = 0;  // moves all logits by 16 * shift * scale
  bool dq = true;
};

// Around the edges of tiles of `rows` queries and `keys` keys; `deep` keys run a ring around. A band kernel gets causal problems and windows.
std::vector<Shape> shapes(i64 rows, i64 keys, i64 deep, bool band) {
  const Window mask = band ? Window{Window::unlimited, 0} : Window{}, window = band ? Window{keys / 2 + 3, 5} : Window{};
  const Window edge = band ? Window{33, -2} : Window{};  // its ends lie one key inside tiles of 16, where a step is just touched
  std::vector<Shape> list{
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
      {"rows of a warp begin in different steps, far below 0", 1, 1, 1, 45, 50, band ? Window{2, 0} : Window{}, Shape::dense, false, true,
       false, 1, -100},
      {"misaligned", 2, 2, 1, 33, keys + 1, mask, Shape::misaligned, false, true, true},
      {"broadcast, negative scale", 2, 2, 2, 40, keys - 1, mask, Shape::broadcast, false, false, false, -0.5f},
      {"no keys", 1, 1, 1, 5, 0, mask},
      {"no queries", 1, 2, 1, 0, keys + 1, mask},
      {"scale 0", 1, 1, 1, 17, 19, mask, Shape::dense, false, false, false, 0},
      {"far more queries than keys", 1, 1, 1, 4 * keys + 3, keys + 5, mask},
      {"without dQ", 1, 2, 1, 4 * rows + 3, keys + 5, mask, Shape::dense, false, true, false, 1, 0, false},
      {"one key, whose P is 1", 1, 1, 1, 17, 1, mask, Shape::dense, false, true},
  };
  // Tiles that see nothing, and those that just see one pair.
  if (band)
    list.insert(list.end(),
                {{"rows without keys: whole tiles", 1, 1, 1, 3 * rows, rows, mask, Shape::dense, false, true},
                 {"rows without keys: all but one of a tile", 1, 1, 1, 3 * rows, rows + 1, mask, Shape::dense, false, true},
                 {"last tile of rows without keys", 1, 1, 1, 2 * rows, keys + 3, {-rows, Window::unlimited}},
                 {"last tile of rows with one key", 1, 1, 1, 2 * rows, keys + 3, {1 - rows, Window::unlimited}, Shape::dense, false, true},
                 {"first tile of keys without rows", 1, 1, 1, rows, keys + rows + 5, {5, 0}},
                 {"first tile of keys with one row", 1, 1, 1, rows, keys + rows + 5, {6, 0}},
                 {"last tiles of keys without rows", 1, 1, 1, rows - 3, 12 * keys, {Window::unlimited, -10 * keys}},
                 {"last tile of keys with one row", 1, 1, 1, rows, 2 * keys, {Window::unlimited, 1 - keys}},
                 {"one row too few to see a key", 1, 1, 1, rows - 5, keys, {Window::unlimited, -keys}},
                 {"whole tiles", 1, 1, 1, 2 * keys, 2 * keys, mask},
                 {"a whole tile but for one pair", 1, 1, 1, 2 * keys, 2 * keys, {rows - 2, Window::unlimited}},
                 {"window without keys", 1, 1, 1, rows + 3, 2 * keys + 1, {-6, 5}}});
  return list;
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
  p.want_dq = s.dq;
  c.seed = u64(s.seqlen_q * 1000 + s.seqlen_k);
  c.outlier = s.outliers ? 30 : 1;
  c.shift = s.shift;
  return c;
}

DeviceFacts card_for(const KernelConfig& config) {
  return *find_card(runs_on(config, 80) ? "a100" : runs_on(config, 120) ? "rtx5090" : "h100");
}

template <class Plans>
std::vector<PlannedCase> planned_cases(const KernelConfig& config, const Spec& spec, const std::vector<Shape>& shapes, const Plans& plan) {
  std::vector<PlannedCase> list;
  for (const Shape& s : shapes) {
    const cli::Case data = make_case(s, spec);
    Plan made = plan(data.problem);
    // A mask that hides nothing is planned as no mask, an empty problem without the kernel: another config's case.
    if (std::ranges::any_of(made.launches, [&](const PlannedLaunch& l) { return l.config == config; }))
      list.push_back({s.name, data, std::move(made)});
  }
  return list;
}

}  // namespace

u32 PlannedCase::grid() const { return std::ranges::max(plan.launches, {}, &PlannedLaunch::grid).grid; }

std::vector<PlannedCase> cases_of(const KernelConfig& config) {
  const DeviceFacts card = card_for(config);
  if (const auto* f = std::get_if<ForwardConfig>(&config))
    return planned_cases(config, f->spec, shapes(f->tuning.rows, f->tuning.keys, 2 * f->tuning.stages + 1, f->spec.mask == MaskKind::band),
                         [&](const Problem& p) { return plan_forward(p, card, &f->tuning); });
  const auto& b = std::get<BackwardConfig>(config);
  return planned_cases(config, b.spec, shapes(b.tuning.rows, b.tuning.keys, 2, b.spec.mask == MaskKind::band),
                       [&](const Problem& p) { return plan_backward(p, card, &b.tuning); });
}

CaseRunner::CaseRunner(const PlannedCase& planned)
    : planned_(planned), arena_(planned.data, planned.plan.workspace.total), storage_(arena_.bytes().size() + 256) {
  memory_ = storage_.data() + (256 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 256) % 256;
  pointers_ = arena_.pointers(memory_);
  const Problem& p = planned.data.problem;
  const bool backward = planned.plan.pass == Pass::backward;
  std::memcpy(memory_, arena_.bytes().data(), arena_.bytes().size());
  exact_ = reference::compute(p, pointers_, backward, reference::Arithmetic::float64);
  reset();
  plain_ = reference::compute(p, pointers_, backward, reference::Arithmetic::plain);
  same_bits_ = !backward || p.determinism != Determinism::none;
}

void CaseRunner::reset() {
  const Problem& p = planned_.data.problem;
  std::memcpy(memory_, arena_.bytes().data(), arena_.bytes().size());
  if (planned_.plan.pass != Pass::backward) return;
  i64 i = 0;
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 r = 0; r < p.seqlen_q; ++r)
      for (i64 h = 0; h < p.heads_q; ++h)
        for (i64 d = 0; d < p.value_dim; ++d, ++i)
          write_element(pointers_.out, b * p.out.batch + r * p.out.row + h * p.out.head + d, p.out.dtype, float(exact_.out[i]));
  for (std::size_t j = 0; j < exact_.lse.size(); ++j) pointers_.lse[j] = float(exact_.lse[j]);
}

std::string CaseRunner::run(const Config& modes) {
  const std::string what = planned_.name + ": " + planned_.data.text() + "\n" + to_text(modes) + "\n";
  reset();
  try {
    run_plan(planned_.plan, pointers_, modes);
  } catch (const std::exception& e) {
    return what + e.what();
  }
  const bool backward = planned_.plan.pass == Pass::backward;
  const auto comparison = reference::compare(planned_.data.problem, pointers_, exact_, plain_, backward);
  if (!comparison.pass) return what + comparison.text();
  if (!same_bits_) return "";
  const std::vector<u8> left(memory_, memory_ + arena_.bytes().size());
  if (first_.empty()) first_ = left;
  return left == first_ ? "" : what + "the results differ in bits from those of the first modes";
}

}  // namespace speedlight::emulator
