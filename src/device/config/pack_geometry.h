// How many blocks the packing kernel gives a tensor: plan sizes the grid with it, the binding cuts the grid among the tensors with it.
#pragma once
#include "config/backward_config.h"

namespace speedlight {

// 0 for a tensor without elements. A block copies 16 KiB, or more where that would be over 4096 blocks.
constexpr i32 pack_blocks(i64 elements, i32 element_bytes) {
  return i32(smaller<i64>(4096, ceil_div<i64>(elements * element_bytes, 16 * 1024)));
}

}  // namespace speedlight
