// Rows for sm_90, measured on an H200 (TFLOP/s of the whole pass, bf16, 32K tokens, width 2048; docs/performance.md). "probe" marks figures
// of the experiments that preceded these kernels.
#include "plan/tables.h"

namespace speedlight::plan {
namespace {

// clang-format off
constexpr ForwardRow forward_rows[] = {
    {64, MaskUse::any, 1280,
     {.rows = 128, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .overlap = true,
      .blocks = 2},
     "two blocks an SM hide each other's start and end: probe 323 at S512 (256-row tile 309), causal S2048 326 (323)"},
    {64, MaskUse::any, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 32, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::recompute, .overlap = true,
      .blocks = 1},
     "256 rows share each key load and 128-key stages halve the waits: probe 405 at S8192 (128-row tile 392)"},
    {64, MaskUse::any, any_length,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .overlap = true,
      .blocks = 2},
     "small tiles fill the card when there are few rows"},
    {128, MaskUse::any, 768,
     {.rows = 128, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 2},
     "two blocks an SM hide each other's start and end: probe 340 at S512 (256-row tile 324), causal 248 (225)"},
    {128, MaskUse::any, any_length,
     {.rows = 256, .keys = 64, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 1},
     "256 rows share each key load: measured 384, 409 at S2048, S8192 (128-row tile 374, 395; scores recomputed 380, 402), causal 341, 418 (330, 388)"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .dq_warps_m = 2,
      .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "P, dS and V in registers, few barriers a key: measured 262, 327, 355, causal 175, 286, 335 (32-row tile, V in shared memory 243, "
     "312, 332, 170, 262, 309)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .split_loads = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "roles split between the warps, only the dP warps load: measured 248, 319, 339, causal 172, 279, 331 (all warps load 228, 280, 302, "
     "161, 257, 307; one role 196, 236, 247, 150, 217, 243)"},
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
