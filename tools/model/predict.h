// The time of a plan on a card, from its kernel's machine code. docs/model.md has the reasoning, the constants and their errors.
#pragma once
#include <string>
#include "model/kernel_code.h"
#include "plan/plan.h"

namespace speedlight::model {

// What one inner iteration (a ring stage, a query tile) of all warps that share an SM needs of each unit, in cycles.
struct UnitCycles {
  double tensor = 0;             // mma
  double issue = 0;              // one instruction a cycle and scheduler
  double shared = 0;             // 128 bytes a cycle and SM
  double mufu = 0;               // 16 a cycle and SM
  double fp32 = 0;               // 128 a cycle and SM, integer too on sm_120
  double integer = 0;            // sm_90: 64 a cycle and SM; sm_120: counted in fp32
  std::string bounding() const;  // the largest
};

struct Prediction {
  double ms = 0, tflops = 0;  // of the whole pass, helper passes included
  double inner_share = 0;     // of the tensor peak, in the inner loop
  double whole_share = 0;     // of card.mma_tflops, for the visible pairs only
  double hidden_ms = 0;       // were all that is not mma hidden under it: a bound
  double helper_ms = 0;       // preprocess and postprocess
  double diagonal = 0;        // share of the tensor work that is on hidden pairs
  double waves = 0;           // blocks over what the card holds at once
  int blocks_per_sm = 0;
  double warps = 0;  // a scheduler, to hide latency
  double dram_bytes = 0, l2_bytes = 0;
  UnitCycles units;
  std::string bound;  // "tensor", "issue", "shared", "mufu", "fp32", "memory"
};

// `code` is the main kernel's, for plan.card.target.
Prediction predict(const Plan& plan, const KernelCode& code);

}  // namespace speedlight::model
