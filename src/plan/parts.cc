#include "plan/parts.h"
#include <fmt/format.h>
#include "config/pack_geometry.h"
#include "problem/error.h"

namespace speedlight::plan {

AttentionShape shape_of(const Problem& p) { return {i32(p.batch), i32(p.heads_q), i32(p.heads_kv), i32(p.seqlen_q), i32(p.seqlen_k)}; }

i64 heads_to_count(const Problem& p, i64 heads) {
  constexpr i64 many = i64(1) << 20;
  return (p.determinism == Determinism::batch_invariant ? many : p.batch) * heads;
}

i32 head_group(i64 heads, bool banded, i64 walk) {
  if (!banded || walk < 1024) return 1;  // H200, causal: +2 to 3 % at S8192, 0 at S512
  i32 group = 8;
  while (heads % group != 0) --group;
  return group;
}

MaskKind mask_of(const Problem& p) { return sees_everything(p.seqlen_q, p.seqlen_k, p.window) ? MaskKind::none : MaskKind::band; }

void add_launch(Plan& plan, Step step, const KernelConfig& config, i64 grid, std::string reason) {
  constexpr i64 limit = (i64(1) << 31) - 1;
  if (grid > limit)
    throw Error(Status::unsupported, fmt::format("batch x heads x tiles makes {} blocks of {}: must be at most {}; split the batch", grid,
                                                 to_text(config), limit));
  plan.launches.push_back({step, config, u32(grid), threads(config), shared_bytes(config), std::move(reason), {}});
}

WorkspaceLayout::Region& packed_region(WorkspaceLayout& w, Operand operand) {
  switch (operand) {
    case Operand::q: return w.packed_q;
    case Operand::k: return w.packed_k;
    case Operand::v: return w.packed_v;
    case Operand::out: return w.packed_out;
    case Operand::dout: return w.packed_dout;
    case Operand::dq: return w.packed_dq;
    case Operand::dk: return w.packed_dk;
    case Operand::dv: return w.packed_dv;
  }
  throw Error(Status::internal, "unknown operand");
}

void place(WorkspaceLayout& workspace, WorkspaceLayout::Region& region, i64 bytes) {
  region = {workspace.total, bytes};
  workspace.total += round_up<i64>(bytes, 256);
}

void add_packing(Plan& plan, Step step) {
  const bool written = step == Step::unpack_outputs;
  const std::vector<Tensor> tensors = tensors_of(plan.problem, plan.pass);
  for (const i32 element_bytes : {2, 4}) {
    i64 grid = 0;
    std::vector<PackCopy> copies;
    for (const Tensor& t : tensors) {
      if (t.written != written || size_of(t.layout.dtype) != element_bytes || !needs_packing(t.layout, t.batch, t.rows, t.heads)) continue;
      place(plan.workspace, packed_region(plan.workspace, t.operand), t.elements() * element_bytes);
      copies.push_back({t.operand, i32(grid)});
      grid += pack_blocks(t.elements(), element_bytes);
    }
    if (copies.empty()) continue;
    add_launch(plan, step, PackConfig{u8(element_bytes)}, grid,
               "tensors with a base or stride that is not a multiple of 16 bytes, or broadcast rows");
    plan.launches.back().copies = std::move(copies);
  }
}

void add_roofline(Plan& plan) {
  const Problem& p = plan.problem;
  const double pairs = double(visible_pairs(p.seqlen_q, p.seqlen_k, p.window)) * double(p.batch) * double(p.heads_q);
  plan.flops = pairs * 2.0 * double(p.head_dim + p.value_dim) * (plan.pass == Pass::backward ? 2.5 : 1);
  double bytes = p.want_lse || plan.pass == Pass::backward ? 4.0 * double(p.batch * p.heads_q * p.seqlen_q) : 0;
  if (plan.pass == Pass::backward && p.has_dlse) bytes *= 2;
  for (const Tensor& t : tensors_of(p, plan.pass)) bytes += double(t.elements() * size_of(t.layout.dtype));
  if (plan.card.mma_tflops > 0) plan.roofline_seconds = plan.flops / (plan.card.mma_tflops * 1e12);
  if (plan.card.memory_tbs > 0) plan.roofline_seconds = std::max(plan.roofline_seconds, bytes / (plan.card.memory_tbs * 1e12));
}

void check_forced(const KernelConfig& config, bool valid, bool needs_sm_90, const DeviceFacts& card) {
  if (!valid)
    throw Error(Status::invalid_argument, fmt::format("tuning of {}: its tile does not divide as the kernel needs", to_text(config)));
  if (needs_sm_90 && card.capability < 90)
    throw Error(Status::unsupported, fmt::format("tuning of {}: must use cp_async, scalar and plain on {}, whose capability is {}",
                                                 to_text(config), card.name, card.capability));
  if (shared_bytes(config) > card.shared_block)
    throw Error(Status::unsupported, fmt::format("tuning of {} takes {} bytes of shared memory: must be at most {} on {}", to_text(config),
                                                 shared_bytes(config), card.shared_block, card.name));
}

}  // namespace speedlight::plan
