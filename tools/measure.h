// Timing on a GPU: data, blocks of launches, and the machine's ceilings. What bench, tune and report share.
#pragma once
#include <span>
#include "machine.h"

namespace speedlight::cli {

// ---- problems that are timed -----------------------------------------------------------------------------------------------------------
struct Cell {
  std::string group;  // "matrix", "gqa", "long", "problem"
  Problem problem;    // dense and contiguous
};
struct MatrixOptions {
  std::vector<i64> head_dims{64, 128}, seqlens{512, 2048, 8192};
  std::vector<int> causal{0, 1};
};
inline constexpr i64 matrix_tokens = 32768, matrix_width = 2048;
std::vector<Cell> matrix_cells(const MatrixOptions& options);  // BF16, 32K tokens, width 2048
std::vector<Cell> gqa_cells();                                 // 32 query heads over 8, S 8192, causal, D 128
std::vector<Cell> long_cells();                                // S 32768 and 131072, one sequence, 16 heads, causal, D 128
std::string cell_text(const Problem& problem);                 // "D128 S8192 causal", and what else is unusual
// As the field counts: 4 * B * Hq * Sq * Sk * D, half of it when masked, 2.5 times in backward.
double cell_flops(const Problem& problem, Pass pass);
Json cell_json(const Cell& cell, Pass pass);
const char* pass_name(Pass pass);

// ---- data ------------------------------------------------------------------------------------------------------------------------------
// The eight tensors and the LSE, random normal numbers, as large as the largest of the cells (all of one dtype); each cell uses their beginning.
// More than one set, used in turn, keeps a small problem's data out of the L2 cache.
class Data {
 public:
  Data(Machine& machine, std::span<const Cell> cells, int sets = 1);
  int sets() const { return int(sets_.size()); }
  Pointers pointers(void* workspace, i64 workspace_bytes, int set = 0) const;
  void poison();  // all results, with NaNs

 private:
  Machine& machine_;
  i64 q_bytes_ = 0, k_bytes_ = 0, lse_bytes_ = 0;
  std::vector<Pointers> sets_;
};
// So many sets that all of them together are twice the L2 cache; 1 when one set is.
int sets_beyond_l2(const Machine& machine, const Problem& problem);

// ---- time ------------------------------------------------------------------------------------------------------------------------------
struct Timing {
  double median_ms = 0, spread = 0;  // spread: (largest - smallest) / median of the blocks
};
Timing summary(std::vector<double> times);
// So many launches take some 40 ms; measured, after a warm-up.
int launches_a_block(Machine& machine, const std::function<void()>& enqueue);
// Milliseconds of a launch, and then a pause as long as they all took: a card that works without a break comes to its power limit, where a kernel's
// clock depends on what ran before it (docs/performance.md, items 26 and 27).
double time_rested(Machine& machine, const std::function<void()>& enqueue, int launches);
// `blocks` such blocks.
Timing time_blocks(Machine& machine, const std::function<void()>& enqueue, int blocks);

double ceiling_tflops(Machine& machine);  // mma.sync with nothing else to do
double copy_tbs(Machine& machine);        // terabytes a second that a copy on the device reads and writes
// Mean host microseconds of a call: an empty kernel's launch, forward, backward.
Json host_times(Machine& machine, const Target& target, std::string& text);

}  // namespace speedlight::cli
