// Rows for sm_90, measured on an H200 (TFLOP/s of the whole pass, bf16, 32K tokens, width 2048; docs/performance.md). "probe" marks figures
// of the experiments that preceded these kernels.
#include "plan/tables.h"

namespace speedlight::plan {
namespace {

// clang-format off
constexpr ForwardRow forward_rows[] = {
    {64, MaskUse::any, 640,
     {.rows = 128, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .overlap = true,
      .blocks = 2},
     "two blocks an SM hide each other's start and end: measured 303, causal 195 at S512 (256-row tile 302, 179)"},
    {64, MaskUse::any, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 32, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .overlap = true,
      .blocks = 1},
     "256 rows share each key load and 128-key stages halve the waits: measured 375, causal 312 at S2048 (128-row tile 360, 309)"},
    {64, MaskUse::any, any_length,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .overlap = true,
      .blocks = 2},
     "small tiles fill the card when there are few rows"},
    {128, MaskUse::any, 384,
     {.rows = 128, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 2},
     "two blocks an SM hide each other's start and end: measured causal 224 at S512 (256-row tile 215; without a mask 312 against 321)"},
    {128, MaskUse::any, any_length,
     {.rows = 256, .keys = 64, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 1},
     "256 rows share each key load: measured 394, causal 337 at S2048 (128-row tile 362, 324)"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::none, 640,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .bulk_loads = true,
      .finish = true, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "the row below, in order and finishing dQ, which spares two passes over short rows: measured 266 at S512 (not in order 265; in order with "
     "the last pass 258); causal it is not worth it (178, not in order 180)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .bulk_loads = true,
      .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "P, dS and V in registers, few barriers a key: measured 262, 327, 355, causal 175, 286, 335 (32-row tile, V in shared memory 243, "
     "312, 332, 170, 262, 309)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, 640,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "the row below, in order and finishing dQ, which spares two passes over short rows: measured 268, causal 185 (not in order 265, 174)"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "roles split between the warps, only the dP warps load: measured 258, 338, 364, causal 173, 280, 336 (before the "
     "last changes 248, 319, 339; then all warps loading 228, 280, 302, one role 196, 236, 247)"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 32, .keys = 64, .warps = 4, .q_stages = 2, .v_registers = true, .dq_warps_m = 1,
      .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
};
// clang-format on

static_assert(rows_fit<ForwardRow>(forward_rows, 90) && rows_complete<ForwardRow>(forward_rows));
static_assert(rows_fit<BackwardRow>(backward_rows, 90) && rows_complete<BackwardRow>(backward_rows));

}  // namespace

constinit const Tables tables_sm90{forward_rows, backward_rows};

}  // namespace speedlight::plan
