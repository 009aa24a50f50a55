// Shared memory of the backward kernel: named byte offsets from the (1024-byte aligned) start, for host and device alike.
#pragma once
#include "config/backward_config.h"

namespace speedlight {

struct BackwardShared {
  i32 bytes = 0;
};

// The owner of kernels/backward.h fills this in.
constexpr BackwardShared backward_shared(const BackwardConfig&) { return {}; }

}  // namespace speedlight
