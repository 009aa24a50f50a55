#include "gpu/bind.h"
#include "gpu/operands.h"

namespace speedlight {
namespace {

template <class T>
T* in_workspace(const Pointers& pointers, const WorkspaceLayout::Region& region) {
  return region.bytes > 0 ? reinterpret_cast<T*>(static_cast<u8*>(pointers.workspace) + region.offset) : nullptr;
}

StridedTensor original(const Placed& t) { return {t.data, t.layout->batch, t.layout->row, t.layout->head}; }

StridedTensor packed(const Placed& t, const Pointers& pointers) {
  return {in_workspace<void>(pointers, *t.packed), t.rows * t.heads * t.dim, t.heads * t.dim, t.dim};
}

AttentionShape shape_of(const Problem& p) { return {i32(p.batch), i32(p.heads_q), i32(p.heads_kv), i32(p.seqlen_q), i32(p.seqlen_k)}; }

float scale_log2(const Problem& p) { return float(double(p.scale) * 1.4426950408889634); }

}  // namespace

StridedTensor operand_tensor(const Plan& plan, const Pointers& pointers, Operand operand) {
  const Placed t = place(plan, pointers, operand);
  return t.packed->bytes > 0 ? packed(t, pointers) : original(t);
}

ForwardParams bind_forward(const Plan& plan, const Pointers& pointers) {
  const Problem& p = plan.problem;
  ForwardParams params{};
  params.q = operand_tensor(plan, pointers, Operand::q);
  params.k = operand_tensor(plan, pointers, Operand::k);
  params.v = operand_tensor(plan, pointers, Operand::v);
  params.out = operand_tensor(plan, pointers, Operand::out);
  params.lse = p.want_lse ? pointers.lse : nullptr;
  params.shape = shape_of(p);
  params.window = p.window;
  params.scale_log2 = scale_log2(p);
  params.q_tiles = plan.geometry.q_tiles;
  params.head_group = plan.geometry.head_group;
  params.sm_count = plan.card.sms;
  params.out_fp32 = p.out.dtype == DType::fp32;
  return params;
}

MapShape bind_map(const Plan& plan, const Pointers& pointers, Operand operand, i32 rows) {
  const Problem& p = plan.problem;
  const Placed placed = place(plan, pointers, operand);
  MapShape map;
  if (p.batch == 0 || placed.rows == 0 || placed.heads == 0) return map;
  const StridedTensor t = operand_tensor(plan, pointers, operand);
  map.data = t.data;
  map.bf16 = p.dtype == DType::bf16;
  map.has_head = placed.heads > 1 && t.head != 0;
  map.has_batch = p.batch > 1 && t.batch != 0;
  const u64 sizes[4] = {u64(placed.dim), u64(placed.rows), map.has_head ? u64(placed.heads) : 1, map.has_batch ? u64(p.batch) : 1};
  const i64 strides[3] = {t.row, t.head, t.batch};
  for (int i = 0; i < 4; ++i) map.sizes[i] = sizes[i];
  // The stride of a dimension of size 1 is never used, but must be legal all the same.
  for (int i = 0; i < 3; ++i) map.strides[i] = u64(sizes[i + 1] > 1 ? strides[i] : placed.dim) * 2;
  map.box[0] = 64, map.box[1] = u32(rows), map.box[2] = map.box[3] = 1;
  return map;
}

BackwardParams bind_backward(const Plan& plan, const Pointers& pointers) {
  const Problem& p = plan.problem;
  const auto tensor = [&](Operand operand) { return operand_tensor(plan, pointers, operand); };
  BackwardParams params{};
  params.q = tensor(Operand::q), params.k = tensor(Operand::k), params.v = tensor(Operand::v);
  params.dout = tensor(Operand::dout), params.out = tensor(Operand::out);
  if (p.want_dq) params.dq = tensor(Operand::dq);
  if (p.want_dk) params.dk = tensor(Operand::dk);
  if (p.want_dv) params.dv = tensor(Operand::dv);
  params.lse = pointers.lse;
  params.dlse = p.has_dlse ? pointers.dlse : nullptr;
  params.row_lse2 = in_workspace<float>(pointers, plan.workspace.row_lse2);
  params.row_delta = in_workspace<float>(pointers, plan.workspace.row_delta);
  params.dq_accumulator = p.want_dq ? in_workspace<float>(pointers, plan.workspace.dq_accumulator) : nullptr;
  params.dq_turns = in_workspace<u32>(pointers, plan.workspace.dq_turns);
  params.ticket = in_workspace<u32>(pointers, plan.workspace.ticket);
  params.cyclic = plan.geometry.cyclic;
  params.shape = shape_of(p);
  params.window = p.window;
  params.scale = p.scale, params.scale_log2 = scale_log2(p);
  params.q_tiles = plan.geometry.q_tiles, params.k_tiles = plan.geometry.k_tiles, params.rows_padded = plan.geometry.rows_padded;
  params.head_group = plan.geometry.head_group;
  params.out_fp32 = p.out.dtype == DType::fp32;
  params.dq_fp32 = p.dq.dtype == DType::fp32, params.dk_fp32 = p.dk.dtype == DType::fp32, params.dv_fp32 = p.dv.dtype == DType::fp32;
  return params;
}

PackParams bind_pack(const Plan& plan, const PlannedLaunch& launch, const Pointers& pointers) {
  PackParams params{};
  for (const PackCopy& copy : launch.copies) {
    const Placed t = place(plan, pointers, copy.operand);
    const StridedTensor ours = packed(t, pointers), theirs = original(t);
    const bool in = launch.step == Step::pack_inputs;
    params.jobs[params.count++] = {in ? theirs : ours, in ? ours : theirs, plan.problem.batch, t.rows, t.heads,
                                   i32(t.dim),         copy.first_block};
  }
  return params;
}

}  // namespace speedlight
