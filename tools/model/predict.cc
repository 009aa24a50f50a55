#include "model/predict.h"
#include <algorithm>
#include <cmath>
#include "attention/diagonals.h"

namespace speedlight::model {
namespace {

// ---- constants -----------------------------------------------------------------------------------------------------------------------
// Cycles that one warp-wide instruction adds to a stream of mma on its scheduler (shared/probes/peak3.cu on an H200; FFMA 1.05 and FADD 1.0
// are taken as one). All others: their issue slot.
constexpr double cost_mufu = 1.3, cost_convert = 0.7, cost_minmax = 0.65, cost_other = 1;
// Fitted once to 144 measured H200 times of 48 configs: cycles that pass, uncovered, for each ...
constexpr double wait_step = 75;    // ... forward softmax step whose exponentials have no product beside them
constexpr double wait_stage = 200;  // ... forward ring stage
constexpr double wait_chunk = 727;  // ... backward piece of scores, from its product through the exponentials and barriers to dQ
constexpr double wait_split = 500;  // ... the same where roles are split between the warps
constexpr double cost_once = 3.7;   // ... instruction before or after the loops (latencies of memory and of dependent code)
// Not fitted.
constexpr double launch_seconds = 3e-6;
constexpr double tail_blocks = 0.5;  // of unequal blocks, heavy first: what the last one sticks out by, in average blocks
constexpr double sharpness = 8;      // of the corner between two limits, in two_limits()
constexpr int schedulers = 4;

double mma_cycles(const DeviceFacts& card) {  // a scheduler and m16n8k16 (4096 FLOP)
  if (card.target == 90) return 6;            // measured
  if (card.target == 80) return 8;
  return card.name == "rtxpro6000" ? 16 : 32;  // 1024 and 512 FLOP a clock and SM
}
double clock_hz(const DeviceFacts& card) {  // at which the card's tensor figure holds
  return card.mma_tflops * 1e12 * mma_cycles(card) / (double(card.sms) * schedulers * 4096);
}

double two_limits(double a, double b) {
  const double most = std::max(a, b);
  return most == 0 ? 0 : most * std::pow(std::pow(a / most, sharpness) + std::pow(b / most, sharpness), 1 / sharpness);
}

// ---- work of an average block --------------------------------------------------------------------------------------------------------
struct BlockWork {
  double whole = 0, masked = 0;  // iterations of a warp: stages and steps forward, tiles backward
  double entries = 0;            // stages or tiles that the block walks
  double blocks = 0;
};

BlockWork forward_work(const Plan& plan, const ForwardConfig& config) {
  const Problem& p = plan.problem;
  const auto& t = config.tuning;
  const Diagonals visible = diagonals(i32(p.seqlen_q), i32(p.seqlen_k), p.window);
  BlockWork work;
  for (i32 tile = 0; tile < plan.geometry.q_tiles; ++tile) {
    const i64 row = i64(tile) * t.rows;
    const TileRange range = key_tiles(row, row + t.rows, p.seqlen_q, p.seqlen_k, p.window, t.keys);
    work.entries += double(range.count());
    for (i32 warp = 0; warp < t.warps; ++warp) {
      const auto seen = visible.keys(i32(row) + warp * config.warp_rows(), config.warp_rows(), i32(p.seqlen_q), i32(p.seqlen_k));
      if (seen.some_from >= seen.some_end) continue;
      const i64 from = ceil_div(seen.all_from, i32(t.keys)), end = larger<i64>(from, seen.all_end / t.keys);
      const i64 steps = ceil_div(seen.some_end, i32(t.step)) - seen.some_from / t.step;
      work.whole += double(end - from) / t.warps;
      work.masked += double(steps - (end - from) * (t.keys / t.step)) / t.warps;
    }
  }
  const double tiles = plan.geometry.q_tiles;
  return {work.whole / tiles, work.masked / tiles, work.entries / tiles, tiles * double(p.batch * p.heads_q)};
}

BlockWork backward_work(const Plan& plan, const BackwardConfig& config) {
  const Problem& p = plan.problem;
  const auto& t = config.tuning;
  const Diagonals visible = diagonals(i32(p.seqlen_q), i32(p.seqlen_k), p.window);
  BlockWork work;
  for (i32 tile = 0; tile < plan.geometry.k_tiles; ++tile) {
    const i32 key = tile * t.keys;
    const TileRange range = row_tiles(key, key + t.keys, p.seqlen_q, p.seqlen_k, p.window, t.rows);
    for (i64 q = range.lo; q < range.hi; ++q) {
      const bool inside = key + t.keys <= p.seqlen_k && (q + 1) * t.rows <= p.seqlen_q;
      (inside && visible.cover(key, t.keys, i32(q * t.rows), t.rows) ? work.whole : work.masked) += 1;
    }
  }
  const double tiles = plan.geometry.k_tiles, group = double(p.heads_q / p.heads_kv);
  work.whole *= group / tiles, work.masked *= group / tiles;
  return {work.whole, work.masked, work.whole + work.masked, tiles * double(p.batch * p.heads_kv)};
}

// ---- cycles --------------------------------------------------------------------------------------------------------------------------
double other_cycles(const Counts& c) {
  const int plain = c.instructions - c.mma - c.mufu - c.convert - c.minmax;
  return cost_other * plain + cost_mufu * c.mufu + cost_convert * c.convert + cost_minmax * c.minmax;
}

// Of one block that is resident: cycles of a scheduler, of the SM's shared memory, and those that nothing covers.
struct BlockCycles {
  double tensor = 0, other = 0, shared = 0, once = 0, waits = 0;
  double throughput() const { return two_limits(tensor + other, shared) + once; }
};

struct Shape {  // what both passes' configs say alike
  double warps = 0, stage_bytes = 0, whole_wait = 0, masked_wait = 0, entry_wait = 0;
};
Shape shape_of(const KernelConfig& config) {
  if (const auto* f = std::get_if<ForwardConfig>(&config)) {
    const double steps = f->tuning.keys / f->tuning.step;
    return {double(f->tuning.warps), f->tuning.copy == Copy::bulk ? double(f->stage_bytes()) : 0.0,
            f->tuning.overlap ? 0 : steps * wait_step, wait_step, wait_stage};
  }
  const auto& b = std::get<BackwardConfig>(config);
  const double wait = b.tuning.schedule == BackwardSchedule::split ? wait_split : b.tuning.chunks * wait_chunk;
  return {double(b.tuning.warps), 0, wait, wait, 0};
}

BlockCycles block_cycles(const DeviceFacts& card, const KernelCode& code, const BlockWork& work) {
  const Shape shape = shape_of(code.config);
  const double share = shape.warps / double(code.roles.size());  // warps of a role
  BlockCycles made;
  for (const TileCounts& role : code.roles) {
    made.tensor += share / schedulers * mma_cycles(card) * (work.whole * role.whole.mma + work.masked * role.masked.mma);
    made.other += share / schedulers * (work.whole * other_cycles(role.whole) + work.masked * other_cycles(role.masked));
    made.shared += share * (work.whole * role.whole.wavefronts + work.masked * role.masked.wavefronts);
  }
  made.shared += work.entries * shape.stage_bytes / 128;
  made.once = shape.warps / schedulers * cost_once * code.once.instructions;
  made.waits = work.whole * shape.whole_wait + work.masked * shape.masked_wait + work.entries * shape.entry_wait;
  return made;
}

UnitCycles unit_cycles(const DeviceFacts& card, const KernelCode& code, double blocks) {
  const Shape shape = shape_of(code.config);
  UnitCycles units;
  for (const TileCounts& role : code.roles) {
    const Counts& c = role.whole;
    const double warps = shape.warps * blocks / double(code.roles.size()), each = warps / schedulers;
    units.tensor += each * mma_cycles(card) * c.mma;
    units.issue += each * c.instructions;
    units.shared += warps * c.wavefronts;
    units.mufu += each * 8 * c.mufu;
    units.fp32 += each * (c.fp32 + c.minmax + 2 * c.convert);
    (card.target == 120 ? units.fp32 : units.integer) += each * c.integer * (card.target == 120 ? 1 : 2);
  }
  units.shared += blocks * shape.stage_bytes / 128;
  return units;
}

// Seconds of all blocks: each SM runs its share in waves of `resident`.
double grid_seconds(const DeviceFacts& card, const BlockCycles& block, double blocks, int resident, bool unequal) {
  const auto wave = [&](double held) { return held * block.throughput() + block.waits; };
  const double each = blocks / card.sms;
  double cycles;
  if (unequal) {
    cycles = each / resident * wave(resident) + tail_blocks * wave(1);
  } else {
    const double busiest = std::ceil(each), last = std::fmod(busiest, resident);
    cycles = std::floor(busiest / resident) * wave(resident) + (last > 0 ? wave(last) : 0);
  }
  return cycles / clock_hz(card);
}

struct Bytes {
  double main = 0, helpers = 0, l2 = 0;
};
Bytes bytes_of(const Plan& plan, const KernelConfig& config, const BlockWork& work) {
  const Problem& p = plan.problem;
  const double q = double(p.batch * p.heads_q * p.seqlen_q * p.head_dim), k = double(p.batch * p.heads_kv * p.seqlen_k * p.head_dim);
  if (const auto* f = std::get_if<ForwardConfig>(&config)) return {2 * (2 * q + 2 * k), 0, work.blocks * work.entries * f->stage_bytes()};
  const auto& c = std::get<BackwardConfig>(config);
  const double tile = double(c.tuning.rows) * double(p.head_dim);
  // O and dO, the accumulator cleared unless the first part of dQ is stored; then dQ from it, unless the last part writes that.
  const double before = q * (2 + 2 + (c.ordered() ? 0 : 4)), after = c.finishes() ? 0 : q * (4 + 2);
  return {2 * (2 * q + 4 * k) + (c.finishes() ? 2 * q : 0), before + after, work.blocks * work.entries * tile * (2 + 2 + 4)};
}

}  // namespace

std::string UnitCycles::bounding() const {
  const std::pair<double, const char*> all[] = {{tensor, "tensor"}, {issue, "issue"}, {shared, "shared"},
                                                {mufu, "mufu"},     {fp32, "fp32"},   {integer, "integer"}};
  return std::ranges::max_element(all)->second;
}

Prediction predict(const Plan& plan, const KernelCode& code) {
  const DeviceFacts& card = plan.card;
  const auto* forward = std::get_if<ForwardConfig>(&code.config);
  const BlockWork work = forward ? forward_work(plan, *forward) : backward_work(plan, std::get<BackwardConfig>(code.config));
  const BlockCycles block = block_cycles(card, code, work);
  const Bytes bytes = bytes_of(plan, code.config, work);
  const bool unequal = plan.problem.window != Window{};
  const double bandwidth = card.memory_tbs * 1e12;

  Prediction made;
  made.blocks_per_sm = std::max(1, blocks_per_sm(card, threads(code.config), code.registers, shared_bytes(code.config)));
  made.warps = made.blocks_per_sm * threads(code.config) / 32.0 / schedulers;
  made.waves = work.blocks / card.sms / made.blocks_per_sm;
  const double main = grid_seconds(card, block, work.blocks, made.blocks_per_sm, unequal), memory = bytes.main / bandwidth;
  made.helper_ms = bytes.helpers / bandwidth * 1e3;
  const double launches = launch_seconds * double(plan.launches.size());
  const double seconds = two_limits(main, memory) + bytes.helpers / bandwidth + launches;
  made.ms = seconds * 1e3;
  made.tflops = plan.flops / seconds * 1e-12;
  made.whole_share = made.tflops / card.mma_tflops;

  BlockCycles hidden = block;
  hidden.other = std::max(0.0, block.other - block.tensor), hidden.waits = 0;
  made.hidden_ms =
      (two_limits(grid_seconds(card, hidden, work.blocks, made.blocks_per_sm, unequal), memory) + bytes.helpers / bandwidth + launches) *
      1e3;

  const BlockCycles inner = block_cycles(card, code, {1, 0, 1, 1});
  const double held = made.blocks_per_sm;
  made.inner_share = held * inner.tensor / (held * (inner.throughput() - inner.once) + inner.waits);
  const double tensor_seconds = work.blocks * block.tensor / card.sms / clock_hz(card);
  made.diagonal = std::max(0.0, 1 - plan.flops / (card.mma_tflops * 1e12) / tensor_seconds);
  made.dram_bytes = bytes.main + bytes.helpers, made.l2_bytes = bytes.l2;
  made.units = unit_cycles(card, code, held);
  made.bound = memory > main ? "memory" : made.units.bounding();
  return made;
}

}  // namespace speedlight::model
