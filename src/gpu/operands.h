// The tensors of a call, by name: layout, pointer, and the place in workspace for a packed copy.
#pragma once
#include "gpu/device.h"

namespace speedlight {

struct Placed {
  const char* name;
  const TensorLayout* layout;
  void* data;
  const WorkspaceLayout::Region* packed;  // size 0: not packed
  i64 rows, heads, dim;
};

Placed place(const Plan& plan, const Pointers& pointers, Operand operand);

}  // namespace speedlight
