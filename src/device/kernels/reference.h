// Float64 attention for tests, one warp a row: query rows (out, lse, delta; then dq), then in backward key rows (dk, dv). `plain` rounds where
// a straightforward half precision computation would, as src/cpu/reference.h does.
#pragma once
#include "config/params.h"
#include "config/backward_config.h"
#include "ptx/global.h"
#include "ptx/math.h"
#include "ptx/warp.h"

namespace speedlight::kernels {

template <ReferenceConfig C>
struct ReferenceRow {
  static constexpr i32 lane_dims = (C.spec.head_dim + 31) / 32;
  struct Vector { double x[lane_dims]; };  // element lane + 32 i

  const ReferenceParams& p;
  i64 batch, head_q, head_kv;

  double single(double x) const { return p.plain ? double(float(x)) : x; }
  double half(double x) const { return p.plain ? double(ptx::unpack_lo<C.spec.dtype>(ptx::pack<C.spec.dtype>(float(x), 0))) : x; }
  template <class F>
  void each(F f) const {
    for (i32 i = 0; i < lane_dims; ++i)
      if (ptx::lane_index() + 32 * i < p.head_dim) f(i, ptx::lane_index() + 32 * i);
  }
  Vector load(const StridedTensor& t, i64 row, i64 head) const {
    Vector v{};
    const u16* from = static_cast<const u16*>(t.data) + batch * t.batch + row * t.row + head * t.head;
    each([&](i32 i, i32 d) { v.x[i] = ptx::unpack_lo<C.spec.dtype>(ptx::load_global_16(from + d)); });
    return v;
  }
  double* place(double* base, i64 row, i64 head, i64 rows, i64 heads) const { return base + ((batch * rows + row) * heads + head) * p.head_dim; }
  static double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (i32 i = 0; i < lane_dims; ++i) sum += a.x[i] * b.x[i];
    for (i32 mask = 16; mask > 0; mask /= 2) sum += ptx::shuffle_xor(sum, mask);
    return sum;
  }
  double score(const Vector& q, const Vector& k) const { return single(single(dot(q, k)) * single(p.scale)); }
  i64 row_index(i64 row) const { return (batch * p.shape.heads_q + head_q) * p.shape.seqlen_q + row; }
  double stored(double x, bool fp32) const { return fp32 ? single(x) : half(x); }
  void store(double* base, i64 row, i64 head, i64 rows, i64 heads, const Vector& v) const {
    double* to = place(base, row, head, rows, heads);
    each([&](i32 i, i32 d) { ptx::store_global_double(to + d, v.x[i]); });
  }

  void forward(i64 row) const {
    const auto& s = p.shape;
    const Vector q = load(p.q, row, head_q);
    const Band seen = band(row, s.seqlen_q, s.seqlen_k, p.window);
    double maximum = -double(ptx::infinity()), sum = 0;
    for (i64 j = seen.lo; j < seen.hi; ++j) {
      const double x = score(q, load(p.k, j, head_kv)), larger = x > maximum ? x : maximum;
      sum = sum * ptx::exp(maximum - larger) + ptx::exp(x - larger);
      maximum = larger;
    }
    const double lse = seen.empty() ? maximum : maximum + ptx::log(sum);
    Vector out{};
    for (i64 j = seen.lo; j < seen.hi; ++j) {
      const double weight = half(single(ptx::exp(score(q, load(p.k, j, head_kv)) - lse)));
      const Vector v = load(p.v, j, head_kv);
      for (i32 i = 0; i < lane_dims; ++i) out.x[i] += weight * v.x[i];
    }
    for (double& x : out.x) x = stored(x, p.out_fp32);
    store(p.out, row, head_q, s.seqlen_q, s.heads_q, out);
    if (ptx::lane_index() == 0) ptx::store_global_double(p.lse + row_index(row), lse);
    if (p.dout.data == nullptr) return;
    const double delta = single(dot(load(p.dout, row, head_q), out));
    if (ptx::lane_index() == 0) ptx::store_global_double(p.delta + row_index(row), delta);
  }

  // What backward knows of one (query row, key).
  struct Pair { double probability, ds, weight; };  // weight: of |K| or |Q| in the error bound
  struct Query { Vector q, dout; double lse, term, norm; };
  Query load_query(i64 row) const {
    Query r{load(p.q, row, head_q), load(p.dout, row, head_q), ptx::load_global_double(p.lse + row_index(row)), 0, 0};
    r.term = single((p.dlse ? double(ptx::load_global_float(p.dlse + row_index(row))) : 0.0) - ptx::load_global_double(p.delta + row_index(row)));
    Vector product{};
    const double* out = place(p.out, row, head_q, p.shape.seqlen_q, p.shape.heads_q);
    each([&](i32 i, i32 d) { product.x[i] = r.dout.x[i] * ptx::load_global_double(out + d); });
    r.norm = ptx::exp(0.5 * ptx::log(dot(product, product)));  // the square root; 0 of 0
    return r;
  }
  Pair pair(const Query& r, const Vector& k, const Vector& v) const {
    const double probability = single(ptx::exp(score(r.q, k) - r.lse)), dp = single(dot(r.dout, v));
    const auto size = [](double x) { return x < 0 ? -x : x; };
    return {probability, half(single(probability * single(dp + r.term))), probability * (size(dp) + size(r.term) + 2 * r.norm) * size(p.scale)};
  }
  static void add(Vector& sum, Vector& bound, double factor, double weight, const Vector& x) {
    for (i32 i = 0; i < lane_dims; ++i) sum.x[i] += factor * x.x[i], bound.x[i] += weight * (x.x[i] < 0 ? -x.x[i] : x.x[i]);
  }
  void query_gradient(i64 row) const {
    const auto& s = p.shape;
    const Query r = load_query(row);
    const Band seen = band(row, s.seqlen_q, s.seqlen_k, p.window);
    Vector dq{}, bound{};
    for (i64 j = seen.lo; j < seen.hi; ++j) {
      const Vector k = load(p.k, j, head_kv);
      const Pair x = pair(r, k, load(p.v, j, head_kv));
      add(dq, bound, x.ds * single(p.scale), x.weight, k);
    }
    for (double& x : dq.x) x = stored(x, p.dq_fp32);
    store(p.dq, row, head_q, s.seqlen_q, s.heads_q, dq);
    store(p.bound_dq, row, head_q, s.seqlen_q, s.heads_q, bound);
  }
  void key_gradient(i64 key) {
    const auto& s = p.shape;
    const Vector k = load(p.k, key, head_kv), v = load(p.v, key, head_kv);
    const Band rows = rows_that_see(key, s.seqlen_q, s.seqlen_k, p.window);
    const i64 group = s.heads_q / s.heads_kv;
    Vector dk{}, dv{}, bound_dk{}, bound_dv{};
    for (head_q = head_kv * group; head_q < (head_kv + 1) * group; ++head_q)
      for (i64 i = rows.lo; i < rows.hi; ++i) {
        const Query r = load_query(i);
        const Pair x = pair(r, k, v);
        add(dk, bound_dk, x.ds * single(p.scale), x.weight, r.q);
        add(dv, bound_dv, half(x.probability), x.probability, r.dout);
      }
    for (double& x : dk.x) x = stored(x, p.dk_fp32);
    for (double& x : dv.x) x = stored(x, p.dv_fp32);
    const auto save = [&](double* to, const Vector& x) { store(to, key, head_kv, s.seqlen_k, s.heads_kv, x); };
    save(p.dk, dk), save(p.dv, dv), save(p.bound_dk, bound_dk), save(p.bound_dv, bound_dv);
  }
};

template <ReferenceConfig C>
inline void reference(const ReferenceParams& p) {
  const auto& s = p.shape;
  const i64 at = i64(ptx::block_index()) * C.block_rows() + ptx::thread_index() / 32, queries = i64(s.batch) * s.heads_q * s.seqlen_q;
  if (at < queries) {
    const i64 pair = at / s.seqlen_q, head = pair % s.heads_q;
    ReferenceRow<C> row{p, pair / s.heads_q, head, head / (s.heads_q / s.heads_kv)};
    if constexpr (C.backward) row.query_gradient(at % s.seqlen_q);
    else row.forward(at % s.seqlen_q);
  } else if (C.backward && at - queries < i64(s.batch) * s.heads_kv * s.seqlen_k) {
    const i64 pair = (at - queries) / s.seqlen_k;
    ReferenceRow<C>{p, pair / s.heads_kv, 0, pair % s.heads_kv}.key_gradient((at - queries) % s.seqlen_k);
  }
}

}  // namespace speedlight::kernels
