// A row of head_dim doubles spread over a warp: what the float64 reference computes with.
#pragma once
#include "config/params.h"
#include "ptx/global.h"
#include "ptx/math.h"
#include "ptx/warp.h"

namespace speedlight::kernels {

// Lane l holds elements l + 32 i; those past `dim`, which is at most Bucket, are 0.
template <DType T, i32 Bucket>
struct ReferenceVector {
  static constexpr i32 parts = (Bucket + 31) / 32;
  double x[parts] = {};

  template <class F>
  static void each(i32 dim, F f) {
    for (i32 i = 0; i < parts; ++i)
      if (ptx::lane_index() + 32 * i < dim) f(i, ptx::lane_index() + 32 * i);
  }
  static ReferenceVector load(const StridedTensor& t, i64 batch, i64 row, i64 head, i32 dim) {
    const u16* from = static_cast<const u16*>(t.data) + batch * t.batch + row * t.row + head * t.head;
    ReferenceVector v;
    each(dim, [&](i32 i, i32 d) { v.x[i] = ptx::unpack_lo<T>(ptx::load_global_16(from + d)); });
    return v;
  }
  static ReferenceVector load(const double* from, i32 dim) {
    ReferenceVector v;
    each(dim, [&](i32 i, i32 d) { v.x[i] = ptx::load_global_double(from + d); });
    return v;
  }
  void store(double* to, i32 dim) const {
    each(dim, [&](i32 i, i32 d) { ptx::store_global_double(to + d, x[i]); });
  }
  template <class F>
  ReferenceVector map(F f) const {
    ReferenceVector v;
    for (i32 i = 0; i < parts; ++i) v.x[i] = f(x[i]);
    return v;
  }
  void add(double factor, const ReferenceVector& v) {
    for (i32 i = 0; i < parts; ++i) x[i] += factor * v.x[i];
  }
  // Sum of f(own element, other's element), the same in every lane.
  template <class F>
  double sum(const ReferenceVector& v, F f) const {
    double total = 0;
    for (i32 i = 0; i < parts; ++i) total += f(x[i], v.x[i]);
    for (i32 mask = 16; mask > 0; mask /= 2) total += ptx::shuffle_xor(total, mask);
    return total;
  }
  double dot(const ReferenceVector& v) const {
    return sum(v, [](double a, double b) { return a * b; });
  }
};

// What backward knows of a query row.
template <class Vector>
struct ReferenceQuery {
  Vector q, dout;
  double lse;
  double term;  // dLSE - delta
  double norm;  // ||dO * O||
};
// And of one (query row, key).
struct ReferencePair {
  double probability, ds;
  double weight;  // of |K| or |Q| in the error bound
};

}  // namespace speedlight::kernels
