// Float64 checks of sampled rows of a dense contiguous problem: for benchmarks, whose problems are too large for a whole reference.
#pragma once
#include <vector>
#include "machine.h"

namespace speedlight::cli {

// Expected rows, computed once and compared with the results of many kernels.
class Samples {
 public:
  // `rows` rows of one query head of one batch entry: of out and lse, and with Pass::backward of dq, dk and dv, whose other rows then come
  // from the (checked) out and lse at `at`.
  Samples(Machine& machine, const Problem& problem, const Pointers& at, i64 batch, i64 head, int rows, Pass pass);

  // The largest ||x - ref|| / ||ref|| of the rows at `results`; infinity when a row is not finite or an lse is off.
  double worst(Machine& machine, const Pointers& results) const;

 private:
  struct Head;
  struct Row {
    void* Pointers::*tensor;
    i64 offset;  // elements
    std::vector<double> expected;
  };
  void add_query_row(const Head& head, const std::vector<float>& keys, const std::vector<float>& values, i64 row, Pass pass);
  void add_key_row(const std::vector<Head>& group, const std::vector<float>& keys, const std::vector<float>& values, i64 row);

  Problem problem_;
  i64 batch_, kv_head_;
  std::vector<Row> rows_;
  std::vector<std::pair<i64, double>> lse_;  // element, expected
};

// The worst of six rows of the first and the last batch entry.
double worst_of_entries(Machine& machine, const Problem& problem, const Pointers& at, Pass pass);
inline constexpr double sample_bound = 1e-2;  // of bf16 and fp16 results; a wrong kernel is off by much more

}  // namespace speedlight::cli
