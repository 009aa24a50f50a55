// A problem from command line options, dense and contiguous.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include "problem/problem.h"

namespace speedlight::cli {

struct ProblemOptions {
  i64 batch = 4, heads = 16, heads_kv = 0, seqlen = 2048, seqlen_k = 0, head_dim = 128, window_left = -1, window_right = -1;
  std::string dtype = "bf16";
  bool causal = false;
  Problem problem() const;
};
void add_problem_options(CLI::App& command, ProblemOptions& options);

// --determinism; `name_of` is what it is called there.
void add_determinism_option(CLI::App& command, Determinism& determinism);
std::string name_of(Determinism determinism);

// Contiguous tensors, scale 1 / sqrt(head_dim), everything wanted.
Problem dense_problem(DType dtype, i64 batch, i64 heads_q, i64 heads_kv, i64 seqlen_q, i64 seqlen_k, i64 head_dim, bool causal);

}  // namespace speedlight::cli
