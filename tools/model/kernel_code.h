// What one kernel's machine code does: in each tile of its loops, and once a block.
#pragma once
#include <string_view>
#include <vector>
#include "model/flow.h"
#include "plan/kernel.h"

namespace speedlight::model {

// Of one warp. Forward: `whole` is a ring stage that the warp sees all of, `masked` one softmax step of a stage with hidden keys.
// Backward: a query tile, without and with hidden pairs.
struct TileCounts {
  Counts whole, masked;
};

struct KernelCode {
  KernelConfig config;
  int target = 0, registers = 0, spill_bytes = 0;
  std::vector<TileCounts> roles;  // one, or two where warps differ (split: scores, then gradients), each of half of the warps
  Counts once;                    // before and after the loops, at most
};

// From the store (compiled where it does not have it), through nvdisasm. Forward and backward main kernels only; throws
// Error(invalid_argument) for others, and where the loops are not what the config's mma count asks for.
KernelCode analyse(const KernelConfig& config, int target);
// The same from nvdisasm's text; registers and spills stay 0.
KernelCode analyse_text(const KernelConfig& config, std::string_view text);

// mma of one warp: a whole forward stage; a masked forward step; a backward tile of each role.
int stage_mma(const ForwardConfig& config);
int step_mma(const ForwardConfig& config);
std::vector<int> tile_mma(const BackwardConfig& config);

}  // namespace speedlight::model
