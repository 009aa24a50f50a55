// Rows for sm_120, within 99 KiB. No such card was measured: reasons give what counting says (probes: bound by mma whichever of these tiles
// runs) and what the same tile did on an H200 held to this card's limits.
#include "plan/tables.h"

namespace speedlight::plan {
namespace {

// clang-format off
constexpr ForwardRow forward_rows[] = {
    {64, MaskUse::any, 1280,
     {.rows = 128, .keys = 64, .warps = 4, .step = 16, .stages = 2, .copy = Copy::bulk, .overlap = true, .blocks = 3},
     "by count bound by mma; three blocks an SM hide each other's start, diagonal and end: within 0.5 % of two blocks with 32-key steps by the model, "
     "and on an H200 within these limits 340 at S512, causal 227, 339 at S512, S2048 (256-row tile 307, 188, 326)"},
    {64, MaskUse::any, any_length,
     {.rows = 256, .keys = 128, .warps = 8, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true,
      .blocks = 1},
     "by count bound by mma; 128-key stages halve the waits (on an H200 within these limits 415 at S8192, 128-row tile 404)"},
    {64, MaskUse::any, any_length,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::bulk, .overlap = true,
      .blocks = 2},
     "small tiles fill the card when there are few rows"},
    {128, MaskUse::any, 768,
     {.rows = 128, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "by count bound by mma; two blocks an SM hide each other's start and end (on an H200 within these limits 349 at S512, causal "
     "245, 256-row tile 352, 228)"},
    {128, MaskUse::any, any_length,
     {.rows = 256, .keys = 64, .warps = 8, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 1},
     "by count bound by mma; 256 rows share each key load (on an H200 within these limits 444 at S8192, 128-row tile 422)"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::bulk, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::any, 640,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .bulk_loads = true,
      .finish = true, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "short rows: in order and finishing dQ, so that no pass clears the accumulator and none reads it again (15 % of the time by the model, at S512)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .bulk_loads = true,
      .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "by count bound by mma; P and dS in registers, two blocks an SM hide each other's barriers. Spills up to 64 bytes; on an H200 the "
     "spill-free 32-row tile is slower in all six cells (S8192: 349 against 360)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::v4,
      .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, 192,
     {.schedule = BackwardSchedule::single, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .bulk_loads = true, .finish = true,
      .dq_warps_m = 1, .dq_warps_n = 8, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "short rows: V stays in shared memory, so the block starts sooner than when it first fills registers; in order and finishing dQ, as above"},
    {128, MaskUse::any, 640,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "the row below, in order and finishing dQ, which spares two passes; at S512 level with the row above by the model, and 276 "
     "against 188 on an H200"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .finish = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix,
      .blocks = 1},
     "in order: finishing dQ beats leaving that to a pass of its own (on an H200 341, 355, causal 296, 343 at S2048, S8192 against 333, 355, 281, 329)",
     true},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::split, .rows = 32, .keys = 128, .warps = 8, .q_stages = 2, .do_stages = 2, .v_registers = true,
      .bulk_loads = true, .dq_warps_m = 1, .dq_warps_n = 4, .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 1},
     "by count bound by mma; roles split between the warps, which hand tiles over by mbarriers (on an H200 357 at S2048, by a block barrier a tile 337, "
     "single role 236)"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 32, .keys = 64, .warps = 4, .v_registers = true, .dq_warps_m = 1, .dq_warps_n = 4,
      .add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2},
     "small tiles fill the card when there are few keys"},
};
// clang-format on

static_assert(rows_fit<ForwardRow>(forward_rows, 120) && rows_complete<ForwardRow>(forward_rows));
static_assert(rows_fit<BackwardRow>(backward_rows, 120) && rows_complete<BackwardRow>(backward_rows));

}  // namespace

constinit const Tables tables_sm120{forward_rows, backward_rows};

}  // namespace speedlight::plan
