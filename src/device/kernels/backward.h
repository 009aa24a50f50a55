// The main backward kernel: a block owns a tile of keys of one (batch, kv head), walks the query tiles of all query heads of the group, keeps
// dK and dV in registers (fp32) and adds its part of dQ to the accumulator.
#pragma once
#include "kernels/backward_single.h"
#include "kernels/backward_split.h"

namespace speedlight::kernels {

template <BackwardConfig C>
inline void backward(const BackwardParams& params) {
  if constexpr (C.tuning.schedule == BackwardSchedule::split)
    SplitBackward<C>(params).run();
  else
    SingleBackward<C>(params).run();
}

}  // namespace speedlight::kernels
