// Times the candidates of one problem and pass on the GPU that is there.
#pragma once
#include "candidates.h"
#include "halving.h"
#include "measure.h"
#include "plan/user_table.h"
#include "store/recipe.h"

namespace speedlight::cli {

// A problem and pass, with a plan for each candidate; the first is the one that the built-in tables choose.
struct TuneCell {
  Cell cell;
  Pass pass;
  std::vector<Plan> plans;
  int considered = 0,
      valid = 0;  // tunings that were looked at, and those of them that the card can run: of neighbours at most most_neighbours are planned
};
TuneCell tune_cell(const Cell& cell, Pass pass, const DeviceFacts& card, Reach reach = Reach::neighbours);
const KernelConfig& main_config(const Plan& plan);  // of a plan that has a main kernel
// Everything that timing the cells will load, none twice: for the targets of the GPU and, in the twin, of the card.
std::vector<Recipe> recipes_of(std::span<const TuneCell> cells, std::span<const int> targets);

enum class Drop : u8 { none, spills, refused, wrong };

struct TuneResult {
  struct Row {
    KernelConfig config;
    Drop drop = Drop::none;
    std::string dropped;  // why it was not timed; empty otherwise
    double error = 0;     // worst relative error of sampled rows
    Timing timing;
    int rounds = 0;
    bool final_round = false;
  };
  std::vector<Row> rows;         // as TuneCell::plans
  int planned = 0, picked = -1;  // rows; picked is -1 when no candidate gave the right answer or the work was stopped
  double seconds = 0;
  int count(Drop drop) const;
};
// "31 looked at, 29 valid, 29 taken: 3 spill, 0 refused, 0 wrong, 26 timed"
std::string counts_text(const TuneCell& cell, const TuneResult& result);
Json to_json(const TuneCell& cell, const TuneResult& result);

class Tuner {
 public:
  Tuner(Machine& machine, const Target& target, double budget_seconds) : machine_(machine), target_(target), budget_(budget_seconds) {}
  TuneResult tune(const TuneCell& cell, Data& data, const std::function<bool()>& stop);

 private:
  struct Runner;
  struct Work;
  // Sets why the row is not timed; throws when the context is lost, and names the kernel.
  void check(const Work& work, const Plan& plan, TuneResult::Row& row);
  double time(Runner& runner);
  Machine& machine_;
  const Target& target_;
  double budget_;
};

// The fastest finalist; but the planned one when it is within `margin` of it, so that noise moves nobody. -1: none was timed.
int pick(const std::vector<Contender>& contenders, int planned, double margin = 0.005);

}  // namespace speedlight::cli
