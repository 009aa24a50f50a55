#include "random_case.h"
#include <algorithm>
#include <cmath>

namespace speedlight::cli {
namespace {

class Draw {
 public:
  explicit Draw(u64 seed, i64 index) : random_(seed * 0x9e3779b97f4a7c15ull + u64(index)) {}
  i64 between(i64 lo, i64 hi) { return std::uniform_int_distribution<i64>(lo, hi)(random_); }
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[between(0, i64(list.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

i64 length(Draw& draw) {
  const i64 kind = draw.between(0, 99);
  if (kind < 12) return draw.between(1, 20);
  if (kind < 40) return draw.pick<i64>({64, 128, 192, 256, 384, 512}) + draw.between(-1, 1);
  if (kind < 48) return i64(std::exp2(draw.between(70, 110) / 10.0));
  return draw.between(128, 700);
}

// Strides of (batch, rows, heads, dim): dense, heads first, padded, or (misaligned) odd.
TensorLayout layout(Draw& draw, DType dtype, i64 batch, i64 rows, i64 heads, i64 dim, bool strided, bool misaligned, bool input) {
  TensorLayout t = contiguous(dtype, rows, heads, dim);
  if (strided) {
    const i64 kind = draw.between(0, input ? 4 : 3);
    if (kind == 0) t = {dtype, heads * rows * dim, dim, rows * dim, 16};                               // (batch, heads, rows, dim)
    if (kind == 1) t = {dtype, 3 * rows * heads * dim, 3 * heads * dim, dim, 16};                      // a slice of packed q, k, v
    if (kind == 2) t = {dtype, rows * (heads * (dim + 8) + 16), heads * (dim + 8) + 16, dim + 8, 16};  // padded
    if (kind == 3) t = {dtype, dim, batch * heads * dim, batch * dim, 16};  // batch inside: (rows, heads, batch, dim)
    if (kind == 4)
      t.batch = draw.chance(0.5) ? 0 : t.batch, t.head = draw.chance(0.5) ? 0 : t.head, t.row = draw.chance(0.2) ? 0 : t.row;  // broadcast
  }
  if (misaligned) {
    if (draw.chance(0.5))
      t.alignment = u32(size_of(dtype)) << draw.between(0, 1);
    else
      t = {dtype, rows * (heads * (dim + 3) + 1) + 5, heads * (dim + 3) + 1, dim + 3, u32(size_of(dtype))};
  }
  return t;
}

void shape(Draw& draw, Problem& p, double work) {
  p.batch = draw.between(1, 3);
  p.heads_kv = draw.between(1, 3);
  p.heads_q = p.heads_kv * (draw.chance(0.4) ? draw.pick<i64>({2, 3, 4, 8}) : 1);
  p.head_dim = p.value_dim = draw.pick<i64>({64, 128});
  p.seqlen_k = length(draw);
  p.seqlen_q = draw.chance(0.5) ? p.seqlen_k : length(draw);
  const i64 mask = draw.between(0, 99);
  if (mask < 50)
    p.window.right = 0;
  else if (mask < 65)
    p.window = {draw.chance(0.7) ? draw.between(0, 200) : Window::unlimited, draw.chance(0.7) ? draw.between(0, 100) : Window::unlimited};
  if (draw.chance(0.15)) {  // rows without keys
    p.window.right = 0;
    p.seqlen_q = p.seqlen_k + draw.between(1, 200);
  }
  if (draw.chance(0.015)) p.seqlen_k = 0;
  if (draw.chance(0.01)) p.seqlen_q = 0;
  if (draw.chance(0.005)) p.batch = 0;
  const auto size = [&] { return double(p.batch) * double(p.heads_q) * double(p.seqlen_q) * double(p.seqlen_k) * double(p.head_dim); };
  while (size() > work && p.batch > 1) --p.batch;
  while (size() > work && p.heads_kv > 1) p.heads_q -= p.heads_q / p.heads_kv, --p.heads_kv;
  while (size() > work && p.heads_q > 2) --p.heads_q;
  while (size() > work) p.seqlen_q = p.seqlen_q * 3 / 4, p.seqlen_k = p.seqlen_k * 3 / 4;
}

}  // namespace

Case random_case(u64 seed, i64 index, double work) {
  Draw draw(seed, index);
  Case c;
  Problem& p = c.problem;
  p.dtype = draw.pick({DType::bf16, DType::fp16});
  shape(draw, p, work);
  const bool strided = draw.chance(0.45), misaligned = draw.chance(0.2);
  const auto make = [&](DType dtype, i64 rows, i64 heads, i64 dim, bool input) {
    return layout(draw, dtype, p.batch, rows, heads, dim, strided && draw.chance(0.7), misaligned && draw.chance(0.5), input);
  };
  const auto result = [&] { return draw.chance(0.2) ? DType::fp32 : p.dtype; };
  p.q = make(p.dtype, p.seqlen_q, p.heads_q, p.head_dim, true);
  p.k = make(p.dtype, p.seqlen_k, p.heads_kv, p.head_dim, true);
  p.v = make(p.dtype, p.seqlen_k, p.heads_kv, p.value_dim, true);
  p.dout = make(p.dtype, p.seqlen_q, p.heads_q, p.value_dim, true);
  p.out = make(result(), p.seqlen_q, p.heads_q, p.value_dim, false);
  p.dq = make(result(), p.seqlen_q, p.heads_q, p.head_dim, false);
  p.dk = make(result(), p.seqlen_k, p.heads_kv, p.head_dim, false);
  p.dv = make(result(), p.seqlen_k, p.heads_kv, p.value_dim, false);
  if (draw.chance(0.15)) {
    p.want_dq = draw.chance(0.5), p.want_dk = draw.chance(0.5);
    p.want_dv = draw.chance(0.5) || !(p.want_dq || p.want_dk);
  }
  p.has_dlse = draw.chance(0.4);
  if (draw.chance(0.3)) p.determinism = draw.pick({Determinism::run_to_run, Determinism::batch_invariant}), c.special += "deterministic ";
  p.scale = float(1 / std::sqrt(double(p.head_dim)));
  if (draw.chance(0.2)) p.scale *= draw.pick({-1.f, 0.f, 0.3f, 2.f});
  c.seed = seed * 1000003 + u64(index);
  if (draw.chance(0.2)) c.outlier = draw.pick({8.f, 30.f}), c.special += "outliers ";
  if (draw.chance(0.08)) c.shift = draw.pick({-100.f, 100.f, -1000.f}), c.special += "shifted ";
  return c;
}

}  // namespace speedlight::cli
