// Which block computes what. Grids are one-dimensional; the host (plan, tests) and the kernels decode them with these functions.
#pragma once
#include "config/params.h"

namespace speedlight {

// One query tile of one (batch, head).
struct ForwardPlace {
  i32 batch, head, head_kv, tile;
};

constexpr u32 forward_blocks(const AttentionShape& s, i32 q_tiles) { return u32(s.batch) * u32(s.heads_q) * u32(q_tiles); }

// block = (group * q_tiles + position) * head_group + member. The `head_group` (batch, head) pairs of a group walk their tiles together, so that
// their keys and values stay in L2; pair = group * head_group + member = batch * heads_q + head. `last_first` walks from the last tile, which is
// the heaviest under a causal mask, to the first.
constexpr ForwardPlace forward_place(u32 block, const AttentionShape& s, i32 q_tiles, i32 head_group, bool last_first) {
  const u32 group_blocks = u32(q_tiles) * u32(head_group);
  const u32 group = block / group_blocks, in_group = block - group * group_blocks;
  const u32 position = in_group / u32(head_group), pair = group * u32(head_group) + in_group - position * u32(head_group);
  const u32 batch = pair / u32(s.heads_q), head = pair - batch * u32(s.heads_q);
  const u32 head_kv = s.heads_q == s.heads_kv ? head : head / (u32(s.heads_q) / u32(s.heads_kv));
  return {i32(batch), i32(head), i32(head_kv), i32(last_first ? u32(q_tiles) - 1 - position : position)};
}

// Rows are dealt to the warps in units of a warp's rows. Under a causal mask later rows have more keys, and warps w, w + 4, ... share one of the
// SM's four schedulers: every second group of four takes its rows in the opposite order, so that each scheduler gets a light and a heavy warp.
// `mirrored` swaps which groups do; blocks that share an SM should differ in it.
constexpr i32 dealt_rows(i32 warp, i32 warps, bool mirrored) {
  const i32 group = warp / 4;
  return warps % 4 == 0 && ((group & 1) != 0) != mirrored ? group * 4 + 3 - warp % 4 : warp;
}

}  // namespace speedlight
