// Parts of a plan that forward and backward share.
#pragma once
#include <span>
#include "plan/choose.h"
#include "plan/plan.h"

namespace speedlight::plan {

AttentionShape shape_of(const Problem& problem);  // validated, so it fits 32 bits
MaskKind mask_of(const Problem& problem);         // none where the window hides nothing
// (batch, head) pairs as the choice of a tile may count them: batch invariance asks for a tile that no batch size changes.
i64 heads_to_count(const Problem& problem, i64 heads);

// How many of `heads` (batch, head) pairs walk their tiles together, heavy ones first. Only a mask makes tiles unequal, and only over many tiles does
// it matter. A divisor, so that groups are whole.
i32 head_group(i64 heads, bool banded, i64 walk);

// Appends a launch. Throws Error(unsupported) where the grid is beyond what a launch can hold.
void add_launch(Plan& plan, Step step, const KernelConfig& config, i64 grid, std::string reason);

// Gives every tensor that needs packing its region in the workspace, and appends the launches that copy those that the pass reads
// (before the main kernel) or writes (after it).
void add_packing(Plan& plan, Step step);
// Region of a tensor's packed copy; bytes 0: not packed.
WorkspaceLayout::Region& packed_region(WorkspaceLayout& workspace, Operand operand);

// Lays `bytes` at the end of the workspace.
void place(WorkspaceLayout& workspace, WorkspaceLayout::Region& region, i64 bytes);

// Fills in flops and roofline_seconds.
void add_roofline(Plan& plan);

// Throws Error(invalid_argument or unsupported) when a forced config is invalid or the card cannot run it.
void check_forced(const KernelConfig& config, bool valid, bool needs_sm_90, const DeviceFacts& card);

}  // namespace speedlight::plan
