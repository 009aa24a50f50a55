// Rows for sm_90, measured on an H200 (TFLOP/s of the whole pass, bf16, 32K tokens, width 2048, a pause after each block of launches;
// docs/performance.md) by tune --exhaustive.
#include "plan/tables.h"

namespace speedlight::plan {
namespace {

// clang-format off
constexpr ForwardRow forward_rows[] = {
    {64, MaskUse::none, 1024,
     {.rows = 128, .keys = 128, .warps = 4, .step = 16, .stages = 2, .copy = Copy::bulk, .overlap = true, .blocks = 3},
     "three blocks an SM hide each other's start and end: measured 355 at S512 (two blocks with 32-key steps 347)"},
    {64, MaskUse::band, 512,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true, .blocks = 3},
     "16 warps an SM, each of 16 rows, hide the diagonal's short steps: measured 239 at S512 (128-row tiles 223 to 231)"},
    {64, MaskUse::band, 1536,
     {.rows = 128, .keys = 128, .warps = 8, .step = 32, .stages = 2, .copy = Copy::bulk, .overlap = true, .blocks = 2},
     "16 warps an SM, each of 16 rows, hide the diagonal's short steps: measured 345 at S2048 (8 warps of 32 rows 338)"},
    {64, MaskUse::any, any_length,
     {.rows = 128, .keys = 128, .warps = 4, .step = 32, .stages = 2, .copy = Copy::bulk, .overlap = true, .blocks = 2},
     "two blocks an SM hide each other's start and end, 128-key stages halve the waits: measured 413, 431 at S2048, S8192, causal 415 at S8192 "
     "(256-row tiles 401, 428, 410)"},
    {64, MaskUse::any, any_length,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true, .blocks = 3},
     "small tiles fill the card when there are few rows"},
    {128, MaskUse::band, 384,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 2, .copy = Copy::bulk, .blocks = 3},
     "12 warps an SM, each of 16 rows, hide the diagonal's short steps: measured 274 at S512 (by bench 271, 128-row tile 226, 256-row tile 235)"},
    {128, MaskUse::none, 640,
     {.rows = 128, .keys = 64, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "two blocks an SM hide each other's start and end: measured 370 at S512 (64-row tile 368, 256-row tile 360)"},
    {128, MaskUse::band, 0,
     {.rows = 128, .keys = 64, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "a middle tile, where the large one would leave SMs idle"},
    {128, MaskUse::any, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 1},
     "256 rows share each key load, and 128-key stages, for which only this card has room, halve the waits: measured 440, 465 at S2048, "
     "S8192, causal 374, 456 (64-key stages 429, 453, causal 442 at S8192; 128-row tile 425, 443, 372, 437)"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::any, 640,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .bulk_loads = true, .finish = true,
      .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "the row below, in order and finishing dQ, which spares two passes over short rows: measured 286, causal 190 at S512 (not in order 282, 188)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .bulk_loads = true, .dq_warps_m = 2,
      .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "P and dS in registers, few barriers a key; V in shared memory, for which two blocks have room only here: measured 358, 376 at S2048, "
     "S8192, causal 312, 379 (V in registers, which spill, 346, 366, 301, 361)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, 640,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "the row below, in order and finishing dQ, which spares two passes over short rows: measured 276, causal 183 at S512 (not in order 264, 178)"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "in order: finishing dQ beats leaving that to a pass of its own (without pauses between the blocks of launches 341, 355, causal 296, 343 "
     "at S2048, S8192 against 333, 355, 281, 329)",
     true},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "roles split between the warps, which hand tiles over by mbarriers: measured 369, 397 at S2048, S8192, causal 318, 391 (one role, 64 keys a "
     "block: 312, 323, causal 277, 325)"},
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
