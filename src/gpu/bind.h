// Binding: a plan and the pointers of a call become the parameters of each launch. Pure host code, no driver.
#pragma once
#include "config/params.h"
#include "gpu/device.h"

namespace speedlight {

// A tensor that bulk copies read: what a CUtensorMap is made from, dimensions innermost first (dim, rows, heads, batch).
struct MapShape {
  void* data = nullptr;  // null: the tensor has no element, and no map is needed
  bool bf16 = true;
  u64 sizes[4] = {};                         // elements; 1 where the dimension is broadcast
  u64 strides[3] = {};                       // bytes, of all but the innermost; multiples of 16
  u32 box[4] = {};                           // elements copied at once: 64 x rows x 1 x 1, at most 256 rows
  bool has_batch = false, has_head = false;  // false: broadcast, the coordinate is 0
};

// The tensor as the main kernels see it: where the caller has it, or its packed copy in workspace.
StridedTensor operand_tensor(const Plan& plan, const Pointers& pointers, Operand operand);

// Everything but the maps themselves, which need the driver; the flags that go with them are set.
ForwardParams bind_forward(const Plan& plan, const Pointers& pointers);
// Of q, k, v or dout; a bulk copy takes `rows` rows at once, queries or keys.
MapShape bind_map(const Plan& plan, const Pointers& pointers, Operand operand, i32 rows);
// Of preprocess, main and postprocess alike.
BackwardParams bind_backward(const Plan& plan, const Pointers& pointers);
// Of one pack_inputs or unpack_outputs launch.
PackParams bind_pack(const Plan& plan, const PlannedLaunch& launch, const Pointers& pointers);

}  // namespace speedlight
