#include "planned/run_plan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "gpu/bind.h"
#include "memory.h"
#include "tensor_map.h"

namespace speedlight::emulator {
namespace {

struct Memory {
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<std::pair<std::string, Region*>> outputs;

  void add(const std::string& name, std::unique_ptr<Region> region, bool output) {
    if (output) outputs.emplace_back(name, region.get());
    regions.push_back(std::move(region));
  }
};

void* data_of(const Pointers& p, Operand operand) {
  const void* all[] = {p.q, p.k, p.v, p.out, p.dout, p.dq, p.dk, p.dv};
  return const_cast<void*>(all[int(operand)]);
}

void add_rows(Memory& memory, const Problem& p, const char* name, const float* data, Access access) {
  if (data) memory.add(name, std::make_unique<Region>(name, data, p.batch * p.heads_q * p.seqlen_q * 4, access), access == Access::output);
}

void add_workspace(Memory& memory, const WorkspaceLayout& w, void* base) {
  const std::pair<const char*, WorkspaceLayout::Region> all[] = {{"packed q", w.packed_q},
                                                                 {"packed k", w.packed_k},
                                                                 {"packed v", w.packed_v},
                                                                 {"packed out", w.packed_out},
                                                                 {"packed dout", w.packed_dout},
                                                                 {"packed dq", w.packed_dq},
                                                                 {"packed dk", w.packed_dk},
                                                                 {"packed dv", w.packed_dv},
                                                                 {"row_lse2", w.row_lse2},
                                                                 {"row_delta", w.row_delta},
                                                                 {"dq_accumulator", w.dq_accumulator},
                                                                 {"dq_turns", w.dq_turns},
                                                                 {"ticket", w.ticket}};
  for (const auto& [name, r] : all)
    if (r.bytes > 0) memory.add(name, std::make_unique<Region>(name, static_cast<u8*>(base) + r.offset, r.bytes, Access::output), false);
}

Memory register_memory(const Plan& plan, const Pointers& pointers) {
  const Problem& p = plan.problem;
  Memory memory;
  for (const Tensor& t : tensors_of(p, plan.pass)) {
    const StridedTensor s{data_of(pointers, t.operand), t.layout.batch, t.layout.row, t.layout.head};
    memory.add(t.name,
               std::make_unique<Region>(t.name, s, i32(size_of(t.layout.dtype)), t.batch, t.rows, t.heads, t.dim,
                                        t.written ? Access::output : Access::input),
               t.written);
  }
  if (plan.pass == Pass::backward) {
    add_rows(memory, p, "lse", pointers.lse, Access::input);
    if (p.has_dlse) add_rows(memory, p, "dlse", pointers.dlse, Access::input);
  } else if (p.want_lse) {
    add_rows(memory, p, "lse", pointers.lse, Access::output);
  }
  add_workspace(memory, plan.workspace, pointers.workspace);
  return memory;
}

TensorMap encode(const MapShape& m) {
  if (!m.data) return {};
  return make_tensor_map({m.data, i64(m.strides[2] / 2), i64(m.strides[0] / 2), i64(m.strides[1] / 2)}, 2, i32(m.sizes[0]), i32(m.sizes[1]),
                         i32(m.sizes[2]), i32(m.sizes[3]), i32(m.box[0]), i32(m.box[1]));
}

ForwardParams bind_with_maps(const Plan& plan, const Pointers& pointers, const ForwardConfig& config) {
  ForwardParams params = bind_forward(plan, pointers);
  if (config.tuning.copy != Copy::bulk) return params;
  const MapShape q = bind_map(plan, pointers, Operand::q, config.query_rows());
  const MapShape k = bind_map(plan, pointers, Operand::k, config.tuning.keys), v = bind_map(plan, pointers, Operand::v, config.tuning.keys);
  params.q_map = encode(q), params.q_map_batch = q.has_batch, params.q_map_head = q.has_head;
  params.k_map = encode(k), params.k_map_batch = k.has_batch, params.k_map_head = k.has_head;
  params.v_map = encode(v), params.v_map_batch = v.has_batch, params.v_map_head = v.has_head;
  return params;
}

BackwardParams bind_with_maps(const Plan& plan, const Pointers& pointers, const KernelConfig& config) {
  BackwardParams params = bind_backward(plan, pointers);
  const auto* backward = std::get_if<BackwardConfig>(&config);
  if (!backward || !backward->tuning.bulk_loads) return params;
  const i32 rows = backward->tuning.rows;
  const MapShape q = bind_map(plan, pointers, Operand::q, rows), dout = bind_map(plan, pointers, Operand::dout, rows);
  params.q_map = encode(q), params.q_map_batch = q.has_batch, params.q_map_head = q.has_head;
  params.dout_map = encode(dout), params.dout_map_batch = dout.has_batch, params.dout_map_head = dout.has_head;
  return params;
}

void add(Counts& sum, const Counts& c) {
  const auto* from = reinterpret_cast<const u64*>(&c);
  auto* to = reinterpret_cast<u64*>(&sum);
  for (std::size_t i = 0; i < sizeof(Counts) / 8; ++i) to[i] += from[i];
}

}  // namespace

std::map<std::string, KernelEntry>& kernels() {
  static std::map<std::string, KernelEntry> all;
  return all;
}

Counts run_plan(const Plan& plan, const Pointers& pointers, Config config) {
  check_pointers(plan, pointers);
  if (plan.geometry.cyclic) config.resident = std::max(config.resident, plan.geometry.k_tiles);  // which then fit the card together
  const bool tracing = std::getenv("SPEEDLIGHT_EMULATOR_TRACE") != nullptr;
  config.trace |= tracing;
  Counts sum;
  if (plan.launches.empty()) return sum;
  const Memory memory = register_memory(plan, pointers);
  for (const PlannedLaunch& launch : plan.launches) {
    config.name = to_text(launch.config);
    const auto found = kernels().find(config.name);
    if (found == kernels().end()) throw std::out_of_range("emulator: the kernel " + config.name + " is not compiled into this program");
    const KernelEntry entry = found->second;
    const auto run = [&](const auto& params) {
      const Counts counts = launch_raw(config, launch.grid, launch.threads, i32(launch.shared), entry, &params);
      if (tracing) std::printf("%s, %u blocks: %s\n", config.name.c_str(), launch.grid, to_text(counts).c_str());
      add(sum, counts);
    };
    if (launch.step == Step::forward)
      run(bind_with_maps(plan, pointers, std::get<ForwardConfig>(launch.config)));
    else if (launch.step == Step::pack_inputs || launch.step == Step::unpack_outputs)
      run(bind_pack(plan, launch, pointers));
    else
      run(bind_with_maps(plan, pointers, launch.config));
  }
  for (const auto& [name, region] : memory.outputs)
    if (const i64 bytes = region->unwritten())
      throw Fault("emulator: " + std::to_string(bytes) + " bytes of " + name + " were never written, the first at byte " +
                  std::to_string(region->first_unwritten()));
  return sum;
}

}  // namespace speedlight::emulator
