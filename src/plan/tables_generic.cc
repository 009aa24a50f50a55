// Rows for the mma.sync family without the instructions of sm_90: sm_80 and sm_86, within 99 KiB. Carried over from the probes on an
// H200, not measured on such a card.
#include "plan/tables.h"

namespace speedlight::plan {
namespace {

// clang-format off
constexpr ForwardRow forward_rows[] = {
    {64, MaskUse::any, any_length,
     {.rows = 128, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::cp_async, .overlap = true,
      .blocks = 2},
     "two blocks an SM hide each other's start and end; the one tile that did well at every length on an H200"},
    {64, MaskUse::any, any_length,
     {.rows = 64, .keys = 64, .warps = 4, .step = 32, .stages = 3, .copy = Copy::cp_async, .overlap = true,
      .blocks = 2},
     "small tiles fill the card when there are few rows"},
    {128, MaskUse::any, any_length,
     {.rows = 128, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::cp_async, .blocks = 2},
     "no spill, and two blocks an SM hide each other's start and end; the 256-row tile spills without bulk copies"},
    {128, MaskUse::any, any_length,
     {.rows = 64, .keys = 32, .warps = 4, .step = 16, .stages = 3, .copy = Copy::cp_async, .blocks = 2},
     "small tiles fill the card when there are few rows"},
};

constexpr BackwardRow backward_rows[] = {
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 128, .warps = 4, .chunks = 2, .v_registers = true, .dq_warps_m = 2,
      .dq_warps_n = 2, .add = VectorAdd::scalar, .store = MatrixStore::plain, .blocks = 2},
     "P and dS in registers, two blocks an SM hide each other's barriers (on an H200 best in all six cells)"},
    {64, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 64, .keys = 64, .warps = 4, .dq_warps_m = 2, .dq_warps_n = 2, .add = VectorAdd::scalar,
      .store = MatrixStore::plain, .blocks = 2},
     "small tiles fill the card when there are few keys"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 32, .keys = 128, .warps = 8, .dq_warps_m = 1, .dq_warps_n = 8, .add = VectorAdd::scalar,
      .store = MatrixStore::plain, .blocks = 1},
     "no spill; the role split spills with scalar adds, which need an address each"},
    {128, MaskUse::any, any_length,
     {.schedule = BackwardSchedule::single, .rows = 32, .keys = 64, .warps = 4, .v_registers = true, .dq_warps_m = 1, .dq_warps_n = 4,
      .add = VectorAdd::scalar, .store = MatrixStore::plain, .blocks = 2},
     "small tiles fill the card when there are few keys"},
};
// clang-format on

static_assert(rows_fit<ForwardRow>(forward_rows, 80) && rows_fit<ForwardRow>(forward_rows, 86) && rows_complete<ForwardRow>(forward_rows));
static_assert(rows_fit<BackwardRow>(backward_rows, 80) && rows_fit<BackwardRow>(backward_rows, 86));
static_assert(rows_complete<BackwardRow>(backward_rows));

}  // namespace

constinit const Tables tables_generic{forward_rows, backward_rows};

}  // namespace speedlight::plan
