// Tensor maps of the emulator: what the driver's encoder would hide, in the open. Same limits as the driver's.
#pragma once
#include "config/params.h"

namespace speedlight::emulator {

struct DecodedMap {
  static constexpr u64 expected = 0x50454d5550414d31;
  u64 magic = expected;
  const u8* base = nullptr;
  i64 stride[4] = {};  // bytes; of dim: the element size
  i32 size[4] = {};    // dim, rows, heads, batch
  u32 box_dim = 0, box_rows = 0, element_bytes = 0;
};
static_assert(sizeof(DecodedMap) <= sizeof(TensorMap));

// A map of a (batch, rows, heads, dim) tensor whose box is `box_dim` x `box_rows` of one head, with 128-byte swizzle: box_dim elements must
// be 128 bytes. Strides as in StridedTensor, in elements. Throws std::invalid_argument where the driver would refuse. A dimension with
// stride 0 must have size 1 here (see ForwardParams::k_map_batch).
TensorMap make_tensor_map(const StridedTensor& tensor, i32 element_bytes, i32 dim, i32 rows, i32 heads, i32 batch, i32 box_dim,
                          i32 box_rows);
DecodedMap decode(const TensorMap& map);

}  // namespace speedlight::emulator
