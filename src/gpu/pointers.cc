// Judging the pointers of a call.
#include <cstdint>
#include <string>
#include "gpu/operands.h"
#include "problem/error.h"

namespace speedlight {
namespace {

std::string hex(const void* pointer) {
  std::string text;
  for (auto value = reinterpret_cast<std::uintptr_t>(pointer); value != 0 || text.empty(); value /= 16)
    text.insert(text.begin(), "0123456789abcdef"[value % 16]);
  return "0x" + text;
}

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& allowed) {
  throw Error(Status::invalid_argument, std::string(name) + " is " + value + ": must be " + allowed);
}

// A tensor without elements may have any pointer, null included.
void check_pointer(const char* name, const void* pointer, bool has_elements, u32 alignment) {
  if (!has_elements) return;
  if (pointer == nullptr) refuse(name, "null", "a pointer to the tensor");
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0)
    refuse(name, hex(pointer), "aligned to " + std::to_string(alignment) + " bytes, as planned");
}

void check_operand(const Plan& plan, const Pointers& pointers, Operand operand) {
  const Placed t = place(plan, pointers, operand);
  check_pointer(t.name, t.data, plan.problem.batch > 0 && t.rows > 0 && t.heads > 0, smaller<u32>(t.layout->alignment, 16));
}

void check_workspace(const Plan& plan, const Pointers& pointers) {
  const i64 needed = plan.workspace.total;
  if (needed == 0) return;
  if (pointers.workspace_bytes < needed)
    refuse("workspace_bytes", std::to_string(pointers.workspace_bytes), "at least " + std::to_string(needed));
  if (pointers.workspace == nullptr) refuse("workspace", "null", "a pointer to " + std::to_string(needed) + " bytes of device memory");
  if (reinterpret_cast<std::uintptr_t>(pointers.workspace) % 256 != 0) refuse("workspace", hex(pointers.workspace), "aligned to 256 bytes");
}

}  // namespace

Placed place(const Plan& plan, const Pointers& x, Operand operand) {
  const Problem& p = plan.problem;
  const WorkspaceLayout& w = plan.workspace;
  const auto on_q = [&](const char* name, const TensorLayout& layout, const void* data, const WorkspaceLayout::Region& packed, i64 dim) {
    return Placed{name, &layout, const_cast<void*>(data), &packed, p.seqlen_q, p.heads_q, dim};
  };
  const auto on_k = [&](const char* name, const TensorLayout& layout, const void* data, const WorkspaceLayout::Region& packed, i64 dim) {
    return Placed{name, &layout, const_cast<void*>(data), &packed, p.seqlen_k, p.heads_kv, dim};
  };
  switch (operand) {
    case Operand::q: return on_q("q", p.q, x.q, w.packed_q, p.head_dim);
    case Operand::k: return on_k("k", p.k, x.k, w.packed_k, p.head_dim);
    case Operand::v: return on_k("v", p.v, x.v, w.packed_v, p.value_dim);
    case Operand::out: return on_q("out", p.out, x.out, w.packed_out, p.value_dim);
    case Operand::dout: return on_q("dout", p.dout, x.dout, w.packed_dout, p.value_dim);
    case Operand::dq: return on_q("dq", p.dq, x.dq, w.packed_dq, p.head_dim);
    case Operand::dk: return on_k("dk", p.dk, x.dk, w.packed_dk, p.head_dim);
    case Operand::dv: return on_k("dv", p.dv, x.dv, w.packed_dv, p.value_dim);
  }
  throw Error(Status::internal, "place: unknown operand");
}

void check_pointers(const Plan& plan, const Pointers& pointers) {
  const Problem& p = plan.problem;
  const bool backward = plan.pass == Pass::backward;
  for (const Operand operand : {Operand::q, Operand::k, Operand::v, Operand::out}) check_operand(plan, pointers, operand);
  if (backward) check_operand(plan, pointers, Operand::dout);
  if (backward && p.want_dq) check_operand(plan, pointers, Operand::dq);
  if (backward && p.want_dk) check_operand(plan, pointers, Operand::dk);
  if (backward && p.want_dv) check_operand(plan, pointers, Operand::dv);
  const bool has_rows = p.batch > 0 && p.heads_q > 0 && p.seqlen_q > 0;
  if (backward || p.want_lse) check_pointer("lse", pointers.lse, has_rows, 4);
  if (backward && p.has_dlse) check_pointer("dlse", pointers.dlse, has_rows, 4);
  if (backward && !p.has_dlse && pointers.dlse != nullptr) refuse("dlse", hex(pointers.dlse), "null, as planned (has_dlse is false)");
  check_workspace(plan, pointers);
}

}  // namespace speedlight
