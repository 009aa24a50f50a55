#include "check_case.h"
#include <fmt/format.h>
#include <algorithm>

namespace speedlight::cli {
namespace {

void check(Machine& machine, const Case& c, CaseResult& result) {
  const Problem& p = c.problem;
  Arena arena(c, std::max(machine.workspace_bytes(p, Pass::forward), machine.workspace_bytes(p, Pass::backward)));
  const i64 bytes = i64(arena.bytes().size());
  void* memory = machine.memory(bytes);
  machine.write(memory, arena.bytes().data(), bytes);
  const Pointers device = arena.pointers(memory);
  Pointers call = device;
  if (!p.want_lse) call.lse = nullptr;
  machine.run(p, Pass::forward, call);
  std::vector<u8> after(arena.bytes().size());
  if (c.loss) {
    machine.read(after.data(), memory, bytes);
    arena.write_loss_gradients(after);
    const Pointers mine = arena.pointers(nullptr);
    for (const void* gradient : {mine.dout, static_cast<const void*>(mine.dlse)}) {
      const i64 offset = i64(reinterpret_cast<intptr_t>(gradient)),
                size = gradient == mine.dout ? extent_bytes(p.dout, p.batch, p.seqlen_q, p.heads_q, p.value_dim)
                                             : p.batch * p.heads_q * p.seqlen_q * 4;
      machine.write(static_cast<u8*>(memory) + offset, arena.bytes().data() + offset, size);
    }
  }
  if (device.workspace_bytes > 0) machine.fill(device.workspace, 0xff, device.workspace_bytes);
  machine.run(p, Pass::backward, device);

  machine.read(after.data(), memory, bytes);
  result.fault = arena.damage(after);
  if (p.determinism != Determinism::none) {
    if (device.workspace_bytes > 0) machine.fill(device.workspace, 0xff, device.workspace_bytes);
    machine.run(p, Pass::backward, device);
    std::vector<u8> again(after.size());
    machine.read(again.data(), memory, bytes);
    const auto workspace = i64(static_cast<const u8*>(device.workspace) - static_cast<const u8*>(memory));
    if (!std::equal(after.begin(), after.begin() + workspace, again.begin())) result.fault += "a second backward gave other bits";
  }
  const Pointers host = arena.pointers(after.data());
  const auto exact = machine.reference(p, host, device, true, reference::Arithmetic::float64);
  const auto plain = machine.reference(p, host, device, true, reference::Arithmetic::plain);
  result.pass = result.fault.empty();
  for (bool backward : {false, true}) {
    const reference::Comparison comparison = reference::compare(p, host, exact, plain, backward);
    result.pass &= comparison.pass;
    result.tensors.insert(result.tensors.end(), comparison.tensors.begin(), comparison.tensors.end());
  }
}

}  // namespace

std::string CaseResult::text() const {
  std::string text;
  for (const reference::TensorCheck& t : tensors)
    text += fmt::format("  {:<4} {:<5} max error {:.3e}  bound {:.3e}  ratio {:.3f}{}\n", t.tensor, t.pass ? "ok" : "MISS", t.max_error,
                        t.bound, t.worst_ratio,
                        t.pass ? ""
                               : fmt::format("  {} elements; worst (b {}, row {}, head {}, {}) is {} for {}", t.failures, t.batch, t.row,
                                             t.head, t.column, t.actual, t.expected));
  if (!fault.empty()) text += "  fault: " + fault + "\n";
  return text;
}

CaseResult check_case(Machine& machine, const Case& c) {
  CaseResult result;
  try {
    check(machine, c, result);
  } catch (const std::exception& error) {
    result.pass = false;
    result.fault = error.what();
  }
  return result;
}

}  // namespace speedlight::cli
