// Operations of a whole warp: the lanes meet, the last one computes for all.
#include <algorithm>
#include <cstring>

#include "core/machine.h"

namespace speedlight::emulator {
namespace {

const char* name(Operation o) {
  switch (o) {
    case Operation::mma: return "mma";
    case Operation::ldmatrix: return "ldmatrix";
    case Operation::ldmatrix_transposed: return "ldmatrix.trans";
    case Operation::stmatrix: return "stmatrix";
    case Operation::shuffle_xor: return "shuffle";
    case Operation::broadcast: return "broadcast";
    case Operation::any: return "vote";
    case Operation::sync_warp: return "warp barrier";
    case Operation::none: break;
  }
  return "";
}

// Meets the other lanes; `compute` runs once, in the last lane to come. Afterwards the slots hold the results.
template <class Compute>
void meet(Operation operation, u32 operand, const Compute& compute) {
  Thread& t = self();
  Warp& warp = *t.warp;
  if (warp.arrived == 0) {
    warp.operation = operation;
    warp.operand = operand;
  } else if (warp.operation != operation || warp.operand != operand) {
    const Thread& first = warp.lanes[__builtin_ctz(warp.arrived)];
    fault(std::string("divergence: this lane is at a ") + name(operation) + " (" + std::to_string(operand) + "), lane " +
          std::to_string(first.lane) + " waits at a " + name(warp.operation) + " (" + std::to_string(warp.operand) + ")" +
          describe_site(first.site));
  }
  warp.arrived |= 1u << t.lane;
  if (warp.arrived != ~0u) return block_on(Wait::collective);
  if (machine->config.trace) count_traced(warp);
  check_warp_together(warp);
  compute(warp);
  warp.arrived = 0;
  for (i32 lane = 0; lane < 32; ++lane) wake(warp.lanes[lane]);
  preemption_point();
}

void unpack(bool bf16, u32 word, float* to) {
  to[0] = bf16 ? float_from_bfloat(u16(word)) : float_from_half(u16(word));
  to[1] = bf16 ? float_from_bfloat(u16(word >> 16)) : float_from_half(u16(word >> 16));
}

// D += A B on the fragments in the slots. Products of 16-bit floats are exact in float; sums run over k upwards.
void multiply(Warp& warp, bool bf16) {
  alignas(32) float a[16][16], b[16][8], d[16][8];
  for (i32 lane = 0; lane < 32; ++lane) {
    const Slot& s = warp.slots[lane];
    const i32 row = lane / 4, col = lane % 4 * 2;
    unpack(bf16, s.a[0], &a[row][col]);
    unpack(bf16, s.a[1], &a[row + 8][col]);
    unpack(bf16, s.a[2], &a[row][col + 8]);
    unpack(bf16, s.a[3], &a[row + 8][col + 8]);
    float pair[2];
    for (i32 half = 0; half < 2; ++half) {
      unpack(bf16, s.b[half], pair);
      b[half * 8 + col][row] = pair[0];
      b[half * 8 + col + 1][row] = pair[1];
    }
    std::memcpy(&d[row][col], &s.d[0], 8);
    std::memcpy(&d[row + 8][col], &s.d[2], 8);
  }
  for (i32 i = 0; i < 16; ++i)
    for (i32 k = 0; k < 16; ++k)
      for (i32 j = 0; j < 8; ++j) d[i][j] += a[i][k] * b[k][j];
  for (i32 lane = 0; lane < 32; ++lane) {
    const i32 row = lane / 4, col = lane % 4 * 2;
    std::memcpy(&warp.slots[lane].d[0], &d[row][col], 8);
    std::memcpy(&warp.slots[lane].d[2], &d[row + 8][col], 8);
  }
}

void count_wavefronts(const Warp& warp) {
  u32 rows[32];
  for (i32 lane = 0; lane < 32; ++lane) rows[lane] = warp.slots[lane].b[0];
  machine->counts.matrix_wavefronts += matrix_wavefronts(rows);
}

// Lane l's address is row l % 8 of matrix l / 8; lane i holds elements 2 (i % 4), + 1 of row i / 4 (transposed: of column i / 4).
void load_matrices(Warp& warp, bool transposed) {
  count_wavefronts(warp);
  u16 rows[32][8];
  for (i32 lane = 0; lane < 32; ++lane) std::memcpy(rows[lane], shared_read(warp.lanes[lane], warp.slots[lane].b[0], 16), 16);
  for (i32 lane = 0; lane < 32; ++lane)
    for (i32 m = 0; m < 4; ++m) {
      const i32 r = lane / 4, c = lane % 4 * 2;
      const u16 lo = transposed ? rows[m * 8 + c][r] : rows[m * 8 + r][c];
      const u16 hi = transposed ? rows[m * 8 + c + 1][r] : rows[m * 8 + r][c + 1];
      warp.slots[lane].a[m] = u32(hi) << 16 | lo;
    }
}

void store_matrices(Warp& warp) {
  count_wavefronts(warp);
  for (i32 row = 0; row < 32; ++row) {
    u32 words[4];
    for (i32 w = 0; w < 4; ++w) words[w] = warp.slots[row % 8 * 4 + w].a[row / 8];
    std::memcpy(shared_write(warp.lanes[row], warp.slots[row].b[0], 16), words, 16);
  }
}

Slot& slot() { return self().warp->slots[self().lane]; }

}  // namespace

void mma(bool bf16, float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  SPEEDLIGHT_EMULATOR_SITE();
  Slot& s = slot();
  std::memcpy(s.d, d, sizeof d);
  std::memcpy(s.a, a, sizeof a);
  s.b[0] = b0;
  s.b[1] = b1;
  meet(Operation::mma, bf16, [&](Warp& warp) {
    multiply(warp, bf16);
    ++machine->counts.mma;
  });
  std::memcpy(d, s.d, sizeof d);
}

void ldmatrix(u32 (&r)[4], u32 row, bool transposed) {
  SPEEDLIGHT_EMULATOR_SITE();
  Slot& s = slot();
  s.b[0] = row;
  meet(transposed ? Operation::ldmatrix_transposed : Operation::ldmatrix, 0, [&](Warp& warp) {
    load_matrices(warp, transposed);
    ++machine->counts.ldmatrix;
  });
  std::memcpy(r, s.a, sizeof r);
}

void stmatrix(u32 row, const u32 (&r)[4]) {
  SPEEDLIGHT_EMULATOR_SITE();
  Slot& s = slot();
  s.b[0] = row;
  std::memcpy(s.a, r, sizeof r);
  meet(Operation::stmatrix, 0, [](Warp& warp) {
    store_matrices(warp);
    ++machine->counts.stmatrix;
  });
}

u32 shuffle_xor(u32 value, i32 lane_mask) {
  SPEEDLIGHT_EMULATOR_SITE();
  Slot& s = slot();
  s.a[0] = value;
  meet(Operation::shuffle_xor, u32(lane_mask), [&](Warp& warp) {
    for (i32 lane = 0; lane < 32; ++lane) warp.slots[lane].b[0] = warp.slots[(lane ^ lane_mask) & 31].a[0];
    ++machine->counts.shuffles;
  });
  return s.b[0];
}

u32 broadcast(u32 value, i32 lane) {
  SPEEDLIGHT_EMULATOR_SITE();
  Slot& s = slot();
  s.a[0] = value;
  meet(Operation::broadcast, u32(lane), [&](Warp& warp) {
    for (i32 l = 0; l < 32; ++l) warp.slots[l].b[0] = warp.slots[lane & 31].a[0];
    ++machine->counts.shuffles;
  });
  return s.b[0];
}

bool any(bool value) {
  SPEEDLIGHT_EMULATOR_SITE();
  Slot& s = slot();
  s.a[0] = value;
  meet(Operation::any, 0, [](Warp& warp) {
    u32 result = 0;
    for (i32 l = 0; l < 32; ++l) result |= warp.slots[l].a[0];
    for (i32 l = 0; l < 32; ++l) warp.slots[l].b[0] = result;
    ++machine->counts.shuffles;
  });
  return s.b[0] != 0;
}

void sync_warp() {
  SPEEDLIGHT_EMULATOR_SITE();
  meet(Operation::sync_warp, 0, [](Warp& warp) {
    Clock& all = warp.clock;
    all = warp.lanes[0].clock;
    for (i32 lane = 0; lane < 32; ++lane) publish(warp.lanes[lane], all);
    for (i32 lane = 0; lane < 32; ++lane) warp.lanes[lane].clock.join(all);
    ++machine->counts.warp_barriers;
  });
}

}  // namespace speedlight::emulator
