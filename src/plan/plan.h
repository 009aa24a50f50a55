// plan: a pure function of (Problem, card facts, tuned tables) to a list of launches. No GPU, no global, no environment.
#pragma once
#include <string>
#include <vector>
#include "config/params.h"
#include "plan/facts.h"
#include "plan/kernel.h"
#include "plan/prepared.h"
#include "problem/problem.h"
#include "problem/tensors.h"

namespace speedlight {

// Scratch memory of a plan; offsets in bytes from the workspace pointer, each a multiple of 256. Size 0: not used.
struct WorkspaceLayout {
  struct Region {
    i64 offset = 0, bytes = 0;
  };
  Region packed_q, packed_k, packed_v, packed_out, packed_dout, packed_dq, packed_dk, packed_dv;
  Region row_lse2, row_delta, dq_accumulator;
  Region dq_turns, ticket;  // of ordered adds to dQ
  i64 total = 0;
};

// A tensor that a packing step copies (inputs: into workspace; outputs: out of it), and the first of the blocks that do so.
struct PackCopy {
  Operand operand;
  i32 first_block = 0;
};

enum class Step : u8 { pack_inputs, forward, preprocess, backward, postprocess, unpack_outputs };

struct PlannedLaunch {
  Step step;
  KernelConfig config;
  u32 grid = 0;  // one-dimensional
  i32 threads = 0;
  i64 shared = 0;                // dynamic bytes
  std::string reason;            // why this config: the table row's text
  std::vector<PackCopy> copies;  // pack_inputs and unpack_outputs only: one PackJob each, in this order, all of config.element_bytes
};

// How the main kernel's tiles cover the problem: what ForwardParams and BackwardParams carry under the same names.
struct Geometry {
  i32 q_tiles = 0, k_tiles = 0;  // k_tiles, rows_padded: backward only
  i32 rows_padded = 0;
  i32 head_group = 1;
  bool cyclic = false;  // backward with ordered adds only
};

struct Plan {
  Pass pass = Pass::forward;
  Problem problem;
  DeviceFacts card;
  std::vector<PlannedLaunch> launches;  // in order; empty when no output has an element. They write every element of every output
  Geometry geometry;
  WorkspaceLayout workspace;
  double flops = 0;             // 4 * B * Hq * D * (visible query-key pairs), times 2.5 in backward
  double roofline_seconds = 0;  // max(flops / mma peak, bytes / bandwidth) on `card`
  PreparedSlots prepared;       // filled by gpu::prepare
};

struct UserTable;  // plan/user_table.h

// Both validate the problem first. Tiles come from the tuned tables of card.target, or from the row of `user` that was measured for such a
// problem on this card; `force` overrides the main kernel's tile (tests, tune).
Plan plan_forward(const Problem& problem, const DeviceFacts& card, const ForwardTuning* force = nullptr, const UserTable* user = nullptr);
Plan plan_backward(const Problem& problem, const DeviceFacts& card, const BackwardTuning* force = nullptr, const UserTable* user = nullptr);

// The tunings in the tables of a target for a head dim and mask: what tests and the tuner sweep with `force`.
std::vector<ForwardTuning> forward_tunings(int target, int head_dim, bool masked);
std::vector<BackwardTuning> backward_tunings(int target, int head_dim, bool masked);

std::string explain(const Plan& plan);  // for people; `speedlight explain --json` prints the same facts from the struct

// Every config that ships compiled for a target, from the tuned tables: the bundle's recipes.
std::vector<KernelConfig> shipped_configs(int target);

}  // namespace speedlight
