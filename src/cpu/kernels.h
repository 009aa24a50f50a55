// The arithmetic of the CPU backend, on tiles of floats. Compiled once for each instruction set and chosen at run time.
//
// A "tile" is column-major, rows x columns, without padding; an "operand" is row-major, without padding. What is plain data crosses this
// interface, and nothing else: kernels_*.cc include no header whose inline functions the linker could merge with those of other files.
#pragma once
#include "config/spec.h"

namespace speedlight::cpu {

// Rows [begin, end) of a tile's column that take part; the others of that column are masked. Empty if end <= begin.
struct Rows {
  i64 begin, end;
};

struct Kernels {
  const char* name;  // "baseline", "v3", "v4"

  // Operand `to` = the strided half or fp32 matrix `from`, converted.
  void (*load)(float* to, const void* from, DType dtype, i64 row_stride, i64 rows, i64 columns);
  // The strided matrix `to` = tile `from`, each row times its factor, converted. A factor of 0 stores 0.
  void (*store)(void* to, DType dtype, i64 row_stride, const float* from, const float* row_factor, i64 rows, i64 columns);
  // Tile c (rows x columns) = alpha a b^T, of operands a (rows x depth) and b (columns x depth).
  void (*scores)(float* c, const float* a, const float* b, float alpha, i64 rows, i64 columns, i64 depth);
  // Tile c (rows x columns) += tile a (rows x depth) times operand b (depth x columns).
  void (*accumulate)(float* c, const float* a, const float* b, i64 rows, i64 columns, i64 depth);

  // Online softmax, a query a row: scores in `s` become exp(s - new maximum), masked ones 0; `maximum`, `sum` (one a row) and the tile
  // `output` (rows x output_columns) are brought up to date. `visible`: one entry a column. `scratch`: 2 rows floats.
  void (*softmax)(float* s, const Rows* visible, float* maximum, float* sum, float* output, float* scratch, i64 rows, i64 columns,
                  i64 output_columns);
  // Backward, a query a column: s becomes P = exp(s - lse), and dp, unless null, dS = P (dp + term); masked ones 0 in both.
  void (*gradient_by_column)(float* s, float* dp, const Rows* visible, const float* lse, const float* term, i64 rows, i64 columns);
  // The same, a query a row; s is left undefined.
  void (*gradient_by_row)(float* s, float* dp, const Rows* visible, const float* lse, const float* term, i64 rows, i64 columns);
  // term[row] = -sum of a[row] b[row], of operands.
  void (*negative_dots)(float* term, const float* a, const float* b, i64 rows, i64 columns);
};

// The best variant that this processor runs.
const Kernels& kernels();
// All variants that this processor runs, the best last; `count` receives how many. For tests.
const Kernels* const* available_kernels(int& count);

}  // namespace speedlight::cpu
