// Grids of the backward kernels: how many blocks, and which work a block owns. One definition for the host and the kernels.
#pragma once
#include "config/backward_config.h"
#include "config/params.h"

namespace speedlight {

// Main kernel: a block owns one tile of keys of one (batch, kv head). The `head_group` heads of a group go through their key tiles together and
// groups follow one another, so that few heads are in flight and their rows stay in L2; early key tiles start first, which a causal mask makes
// the heavy ones. Ordered adds ask for `last_first`.
struct BackwardBlock {
  i32 batch, head_kv, key_tile;
};
constexpr i64 backward_grid(const AttentionShape& shape, i32 k_tiles) { return i64(shape.batch) * shape.heads_kv * k_tiles; }
constexpr BackwardBlock backward_block(u32 item, const AttentionShape& shape, i32 k_tiles, i32 head_group, bool last_first) {
  const u32 group_items = u32(k_tiles) * u32(head_group), group = item / group_items, in_group = item - group * group_items;
  const i32 tile = i32(in_group / u32(head_group));
  const u32 head = group * u32(head_group) + in_group - u32(tile) * u32(head_group);
  return {i32(head / u32(shape.heads_kv)), i32(head % u32(shape.heads_kv)), last_first ? k_tiles - 1 - tile : tile};
}

// Preprocess: a block owns block_rows() padded rows of one (batch, query head).
struct PreprocessBlock {
  i32 batch, head, first_row;
};
constexpr i32 preprocess_blocks(i32 rows_padded) { return ceil_div(rows_padded, PreprocessConfig::block_rows()); }
constexpr i64 preprocess_grid(const AttentionShape& shape, i32 rows_padded) {
  return i64(shape.batch) * shape.heads_q * preprocess_blocks(rows_padded);
}
constexpr PreprocessBlock preprocess_block(u32 block, const AttentionShape& shape, i32 rows_padded) {
  const u32 blocks = u32(preprocess_blocks(rows_padded)), head = block / blocks;
  return {i32(head / u32(shape.heads_q)), i32(head % u32(shape.heads_q)), i32(block % blocks) * PreprocessConfig::block_rows()};
}

// Postprocess: a thread owns two rows (eight apart) of eight columns; threads run through the tiles of the accumulator in order.
constexpr i32 postprocess_tile_items(const DqLayout& layout) { return layout.rows / 2 * (layout.cols / 8); }
constexpr i64 postprocess_grid(const AttentionShape& shape, i32 q_tiles, const DqLayout& layout) {
  return ceil_div(i64(shape.batch) * shape.heads_q * q_tiles * postprocess_tile_items(layout), i64(PostprocessConfig::threads()));
}

}  // namespace speedlight
