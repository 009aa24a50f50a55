// The body of one variant of the kernels. Included once by each kernels_*.cc, after SPEEDLIGHT_VARIANT names the instruction set.
//
// Eigen's inline functions are compiled with different flags in each variant, and the linker would keep only one copy of each; so in each
// variant Eigen is another namespace. tests/cpu/isolation_test.cc checks that no other inline function leaves these files.
#define SPEEDLIGHT_JOIN_(a, b) a##b
#define SPEEDLIGHT_JOIN(a, b) SPEEDLIGHT_JOIN_(a, b)
#define SPEEDLIGHT_TEXT_(a) #a
#define SPEEDLIGHT_TEXT(a) SPEEDLIGHT_TEXT_(a)
#define Eigen SPEEDLIGHT_JOIN(Eigen_, SPEEDLIGHT_VARIANT)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <Eigen/Core>

#include "cpu/kernels.h"

namespace speedlight::cpu {
namespace {

using Eigen::Dynamic;
using Operand = Eigen::Map<const Eigen::Matrix<float, Dynamic, Dynamic, Eigen::RowMajor>>;
using Tile = Eigen::Map<Eigen::Matrix<float, Dynamic, Dynamic>>;
using ConstTile = Eigen::Map<const Eigen::Matrix<float, Dynamic, Dynamic>>;
using Vector = Eigen::Map<Eigen::Array<float, Dynamic, 1>>;
using ConstVector = Eigen::Map<const Eigen::Array<float, Dynamic, 1>>;

constexpr float infinity = __builtin_inff();
constexpr float least_exponent = -87;  // exp of it is the smallest power that is no subnormal, which would slow every product down

// Written out, as Eigen converts halves to float one by one where this the compiler turns into vector code.
inline float widen(Eigen::bfloat16 x) { return __builtin_bit_cast(float, u32(x.value) << 16); }
inline float widen(Eigen::half x) {
  const u32 magnitude = u32(x.x & 0x7fffu) << 13, sign = u32(x.x & 0x8000u) << 16;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;  // from fp16's exponent bias to float's; exact, for subnormals too
  const u32 bits = scaled >= 65536 ? magnitude | 0x7f800000u : __builtin_bit_cast(u32, scaled);  // infinity and NaN
  return __builtin_bit_cast(float, bits | sign);
}
inline float widen(float x) { return x; }

template <class T>
void load_rows(float* __restrict to, const void* from, i64 row_stride, i64 rows, i64 columns) {
  const T* source = static_cast<const T*>(from);
  for (i64 i = 0; i < rows; ++i, to += columns, source += row_stride)
    for (i64 j = 0; j < columns; ++j) to[j] = widen(source[j]);
}

void load(float* to, const void* from, DType dtype, i64 row_stride, i64 rows, i64 columns) {
  if (dtype == DType::fp16)
    load_rows<Eigen::half>(to, from, row_stride, rows, columns);
  else if (dtype == DType::bf16)
    load_rows<Eigen::bfloat16>(to, from, row_stride, rows, columns);
  else
    load_rows<float>(to, from, row_stride, rows, columns);
}

template <class T>
void store_rows(void* to, i64 row_stride, const float* from, const float* row_factor, i64 rows, i64 columns) {
  T* target = static_cast<T*>(to);
  const ConstTile tile(from, rows, columns);
  for (i64 i = 0; i < rows; ++i) {
    Eigen::Map<Eigen::Array<T, Dynamic, 1>> row(target + i * row_stride, columns);
    if (row_factor[i] == 0)
      row.setZero();
    else
      row = (tile.row(i).transpose().array() * row_factor[i]).eval().template cast<T>();
  }
}

void store(void* to, DType dtype, i64 row_stride, const float* from, const float* row_factor, i64 rows, i64 columns) {
  if (dtype == DType::fp16)
    store_rows<Eigen::half>(to, row_stride, from, row_factor, rows, columns);
  else if (dtype == DType::bf16)
    store_rows<Eigen::bfloat16>(to, row_stride, from, row_factor, rows, columns);
  else
    store_rows<float>(to, row_stride, from, row_factor, rows, columns);
}

void scores(float* c, const float* a, const float* b, float alpha, i64 rows, i64 columns, i64 depth) {
  Tile(c, rows, columns).noalias() = alpha * (Operand(a, rows, depth) * Operand(b, columns, depth).transpose());
}

void accumulate(float* c, const float* a, const float* b, i64 rows, i64 columns, i64 depth) {
  Tile(c, rows, columns).noalias() += ConstTile(a, rows, depth) * Operand(b, depth, columns);
}

// Zeroes the masked rows of a column.
void clear_masked(float* column, Rows seen, i64 rows) {
  if (seen.end <= seen.begin) seen = {0, 0};
  Vector(column, seen.begin).setZero();
  Vector(column + seen.end, rows - seen.end).setZero();
}

void softmax(float* s, const Rows* visible, float* maximum, float* sum, float* output, float* scratch, i64 rows, i64 columns,
             i64 output_columns) {
  Vector previous(maximum, rows), total(sum, rows), current(scratch, rows), rescale(scratch + rows, rows);
  current = previous;
  for (i64 j = 0; j < columns; ++j) {
    const i64 first = visible[j].begin, count = visible[j].end - first;
    if (count > 0) current.segment(first, count) = current.segment(first, count).max(Vector(s + j * rows + first, count));
  }
  rescale = previous;
  previous = current;
  // Where nothing was seen yet the maximum is -inf; 0 stands in for it here, and is not kept.
  for (i64 i = 0; i < rows; ++i)
    if (current[i] == -infinity) current[i] = 0;
  rescale = (rescale - current).max(least_exponent).exp();
  if (!(rescale == 1).all()) {
    total *= rescale;
    Tile(output, rows, output_columns).array().colwise() *= rescale;
  }
  for (i64 j = 0; j < columns; ++j) {
    const i64 first = visible[j].begin, count = visible[j].end - first;
    clear_masked(s + j * rows, visible[j], rows);
    if (count <= 0) continue;
    Vector column(s + j * rows + first, count);
    column = (column - current.segment(first, count)).max(least_exponent).exp();
    total.segment(first, count) += column;
  }
}

void gradient_by_column(float* s, float* dp, const Rows* visible, const float* lse, const float* term, i64 rows, i64 columns) {
  for (i64 j = 0; j < columns; ++j) {
    const i64 first = visible[j].begin, count = visible[j].end - first;
    clear_masked(s + j * rows, visible[j], rows);
    if (dp) clear_masked(dp + j * rows, visible[j], rows);
    if (count <= 0) continue;
    Vector p(s + j * rows + first, count);
    p = (p - lse[j]).max(least_exponent).exp();
    if (!dp) continue;
    Vector ds(dp + j * rows + first, count);
    ds = p * (ds + term[j]);
  }
}

void gradient_by_row(float* s, float* dp, const Rows* visible, const float* lse, const float* term, i64 rows, i64 columns) {
  for (i64 j = 0; j < columns; ++j) {
    const i64 first = visible[j].begin, count = visible[j].end - first;
    clear_masked(dp + j * rows, visible[j], rows);
    if (count <= 0) continue;
    const Vector score(s + j * rows + first, count);
    Vector ds(dp + j * rows + first, count);
    ds = (score - ConstVector(lse + first, count)).max(least_exponent).exp() * (ds + ConstVector(term + first, count));
  }
}

void negative_dots(float* term, const float* a, const float* b, i64 rows, i64 columns) {
  for (i64 i = 0; i < rows; ++i) term[i] = -(ConstVector(a + i * columns, columns) * ConstVector(b + i * columns, columns)).sum();
}

}  // namespace

extern const Kernels SPEEDLIGHT_JOIN(kernels_, SPEEDLIGHT_VARIANT);
const Kernels SPEEDLIGHT_JOIN(kernels_, SPEEDLIGHT_VARIANT) = {
    SPEEDLIGHT_TEXT(SPEEDLIGHT_VARIANT), load, store, scores, accumulate, softmax, gradient_by_column, gradient_by_row, negative_dots};

}  // namespace speedlight::cpu
