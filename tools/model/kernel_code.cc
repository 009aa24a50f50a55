#include "model/kernel_code.h"
#include <algorithm>
#include "model/disassemble.h"
#include "problem/error.h"
#include "store/store.h"

namespace speedlight::model {
namespace {

[[noreturn]] void unexpected(const KernelConfig& config, int mma) {
  throw Error(Status::invalid_argument,
              "model: " + to_text(config) + ": no loop with " + std::to_string(mma) + " mma an iteration was found");
}

// The cheapest way with so many mma.
const Way* find_way(const std::vector<Way>& ways, int mma, const Way* other = nullptr) {
  const Way* best = nullptr;
  for (const Way& way : ways)
    if (way.counts.mma == mma && &way != other && (!best || way.counts.instructions < best->counts.instructions)) best = &way;
  return best;
}

TileCounts forward_counts(const ForwardConfig& config, const std::vector<Way>& ways) {
  const Way* whole = find_way(ways, stage_mma(config));
  if (!whole) unexpected(config, stage_mma(config));
  const Way* masked = find_way(ways, step_mma(config), whole);
  if (!masked) unexpected(config, step_mma(config));
  return {whole->counts, masked->counts};
}

// The masked twin of a tile; where it holds a small rolled product loop, as often as the missing mma ask for.
Counts masked_counts(const std::vector<Way>& ways, const Way& whole) {
  for (const Way& way : ways) {
    if (way.head != whole.head || &way == &whole) continue;
    Counts made = way.counts;
    for (const Way& inner : ways) {
      const int missing = whole.counts.mma - made.mma;
      if (missing <= 0 || inner.head == whole.head || inner.counts.mma > 16 || missing % inner.counts.mma != 0) continue;
      for (int trip = missing / inner.counts.mma; trip > 0; --trip) made += inner.counts;
    }
    return made;
  }
  return whole.counts;
}

std::vector<TileCounts> backward_counts(const BackwardConfig& config, const std::vector<Way>& ways) {
  std::vector<TileCounts> roles;
  for (int mma : tile_mma(config)) {
    const Way* whole = find_way(ways, mma);
    if (!whole) unexpected(config, mma);
    roles.push_back({whole->counts, masked_counts(ways, *whole)});
  }
  return roles;
}

}  // namespace

int stage_mma(const ForwardConfig& c) { return c.warp_rows() / 16 * (c.tuning.keys / 8) * (c.spec.head_dim / 16) * 2; }
int step_mma(const ForwardConfig& c) { return stage_mma(c) / (c.tuning.keys / c.tuning.step); }

std::vector<int> tile_mma(const BackwardConfig& c) {
  const int product = c.warp_keys() / 16 * (c.tuning.rows / 8) * (c.spec.head_dim / 16);
  const int dq = c.tuning.rows / 16 * (c.spec.head_dim / 8) * (c.tuning.keys / 16) / c.kv_warps();
  if (c.tuning.schedule == BackwardSchedule::split) return {2 * product + dq, 2 * product};
  return {4 * product + dq};
}

KernelCode analyse_text(const KernelConfig& config, std::string_view text) {
  const Flow flow = make_flow(parse_sass(text, kernel_symbol(config)));
  const std::vector<Way> ways = loop_ways(flow);
  KernelCode made;
  made.config = config;
  made.once = once_counts(flow, ways);
  if (const auto* forward = std::get_if<ForwardConfig>(&config))
    made.roles = {forward_counts(*forward, ways)};
  else if (const auto* backward = std::get_if<BackwardConfig>(&config))
    made.roles = backward_counts(*backward, ways);
  else
    throw Error(Status::invalid_argument, "model: " + to_text(config) + ": only forward and backward main kernels are modelled");
  return made;
}

KernelCode analyse(const KernelConfig& config, int target) {
  const auto code = find_code(config, target);
  KernelCode made = analyse_text(config, disassemble(code->cubin));
  made.target = target;
  made.registers = code->registers;
  made.spill_bytes = code->spill_bytes;
  return made;
}

}  // namespace speedlight::model
