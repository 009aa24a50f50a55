#include "problem_options.h"
#include <algorithm>
#include <cmath>

namespace speedlight::cli {
namespace {

const std::vector<std::pair<std::string, Determinism>> determinism_names{
    {"none", Determinism::none}, {"run_to_run", Determinism::run_to_run}, {"batch_invariant", Determinism::batch_invariant}};

}  // namespace

Problem dense_problem(DType dtype, i64 batch, i64 heads_q, i64 heads_kv, i64 seqlen_q, i64 seqlen_k, i64 head_dim, bool causal) {
  Problem p;
  p.batch = batch, p.heads_q = heads_q, p.heads_kv = heads_kv, p.seqlen_q = seqlen_q, p.seqlen_k = seqlen_k;
  p.head_dim = p.value_dim = head_dim, p.dtype = dtype;
  p.q = p.out = p.dout = p.dq = contiguous(dtype, seqlen_q, heads_q, head_dim);
  p.k = p.v = p.dk = p.dv = contiguous(dtype, seqlen_k, heads_kv, head_dim);
  p.scale = float(1 / std::sqrt(double(head_dim)));
  if (causal) p.window.right = 0;
  return p;
}

void add_problem_options(CLI::App& command, ProblemOptions& o) {
  command.add_option("--batch", o.batch);
  command.add_option("--heads", o.heads, "query heads");
  command.add_option("--heads-kv", o.heads_kv, "key and value heads (default: as many as query heads)");
  command.add_option("--seqlen", o.seqlen, "queries");
  command.add_option("--seqlen-k", o.seqlen_k, "keys (default: as many as queries)");
  command.add_option("--head-dim", o.head_dim);
  command.add_option("--dtype", o.dtype)->check(CLI::IsMember({"bf16", "fp16"}));
  command.add_flag("--causal", o.causal);
  command.add_option("--window-left", o.window_left, "keys left of the diagonal, inclusive (default: no bound)");
  command.add_option("--window-right", o.window_right, "keys right of the diagonal, inclusive (default: no bound)");
}

void add_determinism_option(CLI::App& command, Determinism& determinism) {
  std::vector<std::string> names;
  for (const auto& [name, value] : determinism_names) names.push_back(name);
  const auto set = [&determinism](const std::string& name) {
    determinism = std::ranges::find(determinism_names, name, &std::pair<std::string, Determinism>::first)->second;
  };
  command.add_option_function<std::string>("--determinism", set, "of the gradients (default: none)")->check(CLI::IsMember(names));
}

std::string name_of(Determinism determinism) {
  return std::ranges::find(determinism_names, determinism, &std::pair<std::string, Determinism>::second)->first;
}

Problem ProblemOptions::problem() const {
  Problem p = dense_problem(dtype == "bf16" ? DType::bf16 : DType::fp16, batch, heads, heads_kv ? heads_kv : heads, seqlen,
                            seqlen_k ? seqlen_k : seqlen, head_dim, causal);
  if (window_left >= 0) p.window.left = window_left;
  if (window_right >= 0) p.window.right = window_right;
  return p;
}

}  // namespace speedlight::cli
