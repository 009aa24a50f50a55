// Rows for sm_90, measured on an H200 (TFLOP/s of the whole pass, bf16, 32K tokens, width 2048; docs/performance.md). "probe" marks figures
// of the experiments that preceded these kernels.
#include "plan/tables.h"

namespace speedlight::plan {
namespace {

// clang-format off
constexpr ForwardRow forward_rows[] = {
    {64, MaskUse::none, 3072,
     {.rows = 128, .keys = 128, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true, .blocks = 2},
     "two blocks an SM hide each other's start and end, 128-key stages halve the waits: measured 315, 374 at S512, S2048 (256-row tile 298, 374)"},
    {64, MaskUse::none, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 32, .stages = 4, .copy = Copy::bulk, .overlap = true, .blocks = 1},
     "256 rows share each key load, and 128-key stages halve the waits: measured 400 at S8192 (three stages 396, 256-key stages 401, 128-row tile 383)"},
    {64, MaskUse::band, 1536,
     {.rows = 128, .keys = 64, .warps = 8, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true, .blocks = 2},
     "16 warps an SM, each of 16 rows, hide the diagonal's short steps: measured 210, 314 at S512, S2048 (8 warps of 32 rows 199, 311)"},
    {64, MaskUse::band, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true, .blocks = 1},
     "256 rows share each key load and 128-key stages halve the waits: measured 379 at S8192 (256-key stages 386, 128-row tile 365)"},
    {64, MaskUse::any, any_length,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true, .blocks = 2},
     "small tiles fill the card when there are few rows"},
    {128, MaskUse::band, 384,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 2, .copy = Copy::bulk, .blocks = 3},
     "12 warps an SM, each of 16 rows, hide the diagonal's short steps: measured 245 at S512 (128-row tiles 225 to 231). Spills 16 bytes; the "
     "best that does not, 229"},
    {128, MaskUse::none, 640,
     {.rows = 128, .keys = 64, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "two blocks an SM hide each other's start and end: measured 325 at S512 (256-row tiles 322, 326)"},
    {128, MaskUse::band, 0,
     {.rows = 128, .keys = 64, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "a middle tile, where the large one would leave SMs idle"},
    {128, MaskUse::any, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 1},
     "256 rows share each key load, and 128-key stages, for which only this card has room, halve the waits: measured 398, 433 at S2048, "
     "S8192, causal 361, 421 (64-key stages 405, 429, 353, 411; 128-row tile 396, 418, 338, 394)"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::none, 640,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .bulk_loads = true, .finish = true,
      .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "the row below, in order and finishing dQ, which spares two passes over short rows: as fast as without order (269 at S512)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .bulk_loads = true, .dq_warps_m = 2,
      .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "P and dS in registers, few barriers a key; V in shared memory, for which two blocks have room only here: measured 269, 341, 365, "
     "causal 184, 299, 355 (V in registers, which spill, 256, 328, 352, 177, 290, 344)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, 640,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "the row below, in order and finishing dQ, which spares two passes over short rows: measured 275, causal 184 (before the mbarriers 268, 185, not in order 265, 174)"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "in order: finishing dQ beats leaving that to a pass of its own (measured 341, 355, causal 296, 343 at S2048, S8192 against 333, 355, 281, 329)",
     true},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "roles split between the warps, which hand tiles over by mbarriers: measured 358, 381 at S2048, S8192, causal 313, 372 (by a block barrier each "
     "tile 337, 366, 293, 352; one role 236, 247)"},
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
