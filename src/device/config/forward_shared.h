// Shared memory of the forward kernel: named byte offsets from the (1024-byte aligned) start, for host and device alike.
#pragma once
#include "config/forward_config.h"

namespace speedlight {

struct ForwardShared {
  i32 ring;   // stages x (K tile, V tile), each tile head_dim / 64 slabs of keys x 128 bytes, 128-byte swizzle
  i32 full;   // mbarrier per stage (Copy::bulk)
  i32 empty;  // mbarrier per stage
  i32 place;  // twelve words that every warp needs now and then (kernels/forward.h: PlaceWord)
  i32 own;    // four words a warp (OwnWord)
  i32 bytes;  // in all
};

constexpr ForwardShared forward_shared(const ForwardConfig& c) {
  ForwardShared s{};
  s.ring = 0;
  s.full = c.tuning.stages * c.stage_bytes();
  s.empty = s.full + (c.tuning.copy == Copy::bulk ? 8 * c.tuning.stages : 0);
  s.place = s.empty + (c.tuning.copy == Copy::bulk ? 8 * c.tuning.stages : 0);
  s.own = s.place + 48;
  s.bytes = s.own + 16 * c.tuning.warps;
  return s;
}

}  // namespace speedlight
