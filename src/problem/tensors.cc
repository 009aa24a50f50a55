#include "problem/tensors.h"

namespace speedlight {

std::vector<Tensor> tensors_of(const Problem& p, Pass pass) {
  const auto on_q = [&](Operand operand, const char* name, const TensorLayout& layout, i64 dim, bool written, bool may_be_fp32) {
    return Tensor{operand, name, layout, p.batch, p.seqlen_q, p.heads_q, dim, written, may_be_fp32};
  };
  const auto on_k = [&](Operand operand, const char* name, const TensorLayout& layout, i64 dim, bool written) {
    return Tensor{operand, name, layout, p.batch, p.seqlen_k, p.heads_kv, dim, written, written};
  };
  std::vector<Tensor> list{on_q(Operand::q, "q", p.q, p.head_dim, false, false), on_k(Operand::k, "k", p.k, p.head_dim, false),
                           on_k(Operand::v, "v", p.v, p.value_dim, false),
                           on_q(Operand::out, "out", p.out, p.value_dim, pass == Pass::forward, true)};
  if (pass == Pass::forward) return list;
  list.push_back(on_q(Operand::dout, "dout", p.dout, p.value_dim, false, false));
  if (p.want_dq) list.push_back(on_q(Operand::dq, "dq", p.dq, p.head_dim, true, true));
  if (p.want_dk) list.push_back(on_k(Operand::dk, "dk", p.dk, p.head_dim, true));
  if (p.want_dv) list.push_back(on_k(Operand::dv, "dv", p.dv, p.value_dim, true));
  return list;
}

}  // namespace speedlight
