// Rows for sm_90, from the probes on an H200 (TFLOP/s of the whole pass, bf16, 32K tokens, width 2048).
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
    {128, MaskUse::band, any_length,
     {.rows = 256, .keys = 64, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 1},
     "masked steps are often redone, so their scores are kept: probe causal S2048 353 (recomputed 328), S8192 414 (416)"},
    {128, MaskUse::none, any_length,
     {.rows = 256, .keys = 64, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::recompute, .blocks = 1},
     "256 rows share each key load; no copy of the scores leaves registers for Q: probe 424 at S8192 (128-row tile 414)"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .softmax = Softmax::keep, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .dq_warps_m = 2,
      .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "32 keys a warp halve the operand traffic, P and dS stay in registers, two blocks an SM: probe 261, 336, 360 (32-row tile "
     "259, 329, 349)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, 512,
     {.schedule = BackwardSchedule::single, .rows = 32, .keys = 128, .warps = 8, .dq_warps_m = 1, .dq_warps_n = 8, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 1},
     "short rows: V stays in shared memory, so the block starts sooner than when it first fills registers"},
    {128, MaskUse::none, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "roles split between the warps leave each 32 keys and V in registers: probe 336 at S2048 (single role 281 to 297)"},
    {128, MaskUse::band, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .split_loads = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "as without a mask, and the dP warps alone load, which evens the roles: probe causal main 318 at S2048 (all warps load 294)"},
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
