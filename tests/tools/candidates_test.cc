// What the tuner times, and that it can be compiled ahead without a GPU.
#include "tools/candidates.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <set>
#include "problem/error.h"
#include "store/nvrtc.h"
#include "tools/tuner.h"

namespace speedlight::cli {
namespace {

template <class Config, class Tuning>
void check(const Candidates<Tuning>& candidates, const std::vector<Tuning>& rows, const Spec& spec, const DeviceFacts& card,
           size_t most = most_neighbours) {
  const std::string at = card.name + " " + to_text(KernelConfig(Config{spec, rows[0]}));
  const std::vector<Tuning>& found = candidates.valid;
  EXPECT_LE(found.size(), size_t(candidates.considered)) << at;
  EXPECT_LE(found.size(), most) << at << ": all that are valid are timed";
  EXPECT_GE(found.size(), 8u) << at;
  EXPECT_TRUE(std::ranges::equal(rows, std::span(found).first(rows.size()))) << at << ": the table's rows come first";
  std::set<std::string> texts;
  for (const Tuning& tuning : found) {
    KernelConfig config = Config{spec, tuning};
    if (auto* b = std::get_if<BackwardConfig>(&config); b && b->tuning.finish) b->spec.determinism = Determinism::run_to_run;
    EXPECT_TRUE(texts.insert(to_text(config)).second) << "twice: " << to_text(config);
    EXPECT_TRUE(runs_on(config, card.target)) << to_text(config);
    EXPECT_GE(blocks_per_sm(card, threads(config), 0, shared_bytes(config)), int(tuning.blocks)) << to_text(config);
  }
}

TEST(Candidates, AreValidOnEveryCardAndNeitherFewNorMany) {
  for (const DeviceFacts& card : known_cards())
    for (const u16 dim : {u16(64), u16(128)})
      for (const MaskKind mask : {MaskKind::none, MaskKind::band}) {
        const Spec spec{.dtype = DType::bf16, .head_dim = dim, .value_dim = dim, .mask = mask};
        const bool masked = mask == MaskKind::band;
        check<ForwardConfig>(forward_candidates(spec, card, Reach::neighbours), forward_tunings(card.target, dim, masked), spec, card);
        check<BackwardConfig>(backward_candidates(spec, card, Reach::neighbours), backward_tunings(card.target, dim, masked), spec, card);
      }
}

TEST(Candidates, AllAreMany) {
  for (const char* name : {"h200", "rtx5090", "rtx3090"})
    for (const u16 dim : {u16(64), u16(128)}) {
      const DeviceFacts card = *find_card(name);
      const Spec spec{.dtype = DType::bf16, .head_dim = dim, .value_dim = dim, .mask = MaskKind::band};
      const auto forward = forward_candidates(spec, card, Reach::all);
      const auto backward = backward_candidates(spec, card, Reach::all);
      EXPECT_GE(std::min(forward.valid.size(), backward.valid.size()), 2 * most_neighbours);
      check<ForwardConfig>(forward, forward_tunings(card.target, dim, true), spec, card, 1000);
      check<BackwardConfig>(backward, backward_tunings(card.target, dim, true), spec, card, 1000);
    }
}

TEST(Candidates, OfACellBeginWithWhatIsPlanned) {
  for (const char* name : {"h200", "rtx5090", "rtx3090"}) {
    const DeviceFacts card = *find_card(name);
    for (const Cell& cell : matrix_cells({}))
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        const TuneCell made = tune_cell(cell, pass, card);
        const Plan planned = pass == Pass::forward ? plan_forward(cell.problem, card) : plan_backward(cell.problem, card);
        EXPECT_EQ(main_config(made.plans.front()), main_config(planned));
        EXPECT_LE(made.plans.size(), most_neighbours);
        EXPECT_GE(made.plans.size(), size_t(made.valid));
        EXPECT_GE(made.considered, made.valid);
        EXPECT_GE(made.plans.size(), 8u) << to_text(main_config(planned));
        std::set<std::string> texts;
        for (const Plan& plan : made.plans) EXPECT_TRUE(texts.insert(to_text(main_config(plan))).second);
      }
  }
}

TEST(Candidates, OfABackwardAddInOrderAndNot) {
  for (const Cell& cell : matrix_cells({})) {
    const TuneCell made = tune_cell(cell, Pass::backward, *find_card("h200"));
    const auto ordered =
        std::ranges::count_if(made.plans, [](const Plan& plan) { return std::get<BackwardConfig>(main_config(plan)).ordered(); });
    EXPECT_GE(ordered, 1) << cell_text(cell.problem);
    EXPECT_GE(i64(made.plans.size()) - ordered, 8) << cell_text(cell.problem);
  }
}

TEST(Candidates, OfADeterministicBackwardAddInOrder) {
  Cell cell = matrix_cells({})[0];
  cell.problem.determinism = Determinism::run_to_run;
  const TuneCell made = tune_cell(cell, Pass::backward, *find_card("h200"));
  EXPECT_GE(made.plans.size(), 8u);
  for (const Plan& plan : made.plans) EXPECT_TRUE(std::get<BackwardConfig>(main_config(plan)).ordered()) << to_text(main_config(plan));
}

TEST(Candidates, OfAProblemWithoutWorkAreRefused) {
  Cell cell = matrix_cells({})[0];
  cell.problem.batch = 0;
  EXPECT_THROW(tune_cell(cell, Pass::forward, *find_card("h200")), Error);
}

TEST(Prepare, CompilesWhatTuneWillLoadAndOnlyOnce) {
  TuneCell cell = tune_cell(matrix_cells({{64}, {512}, {0}})[0], Pass::backward, *find_card("h200"));
  cell.plans.resize(2);
  const std::vector<TuneCell> cells{cell, cell};
  const std::vector<int> targets{90};
  const std::vector<Recipe> recipes = recipes_of(cells, targets);
  ASSERT_GE(recipes.size(), 4u);  // preprocess, two main kernels, one or two postprocesses
  ASSERT_LE(recipes.size(), 5u);
  try {
    store::Nvrtc::instance();
  } catch (const Error&) {
    GTEST_SKIP() << "no NVRTC";
  }
  std::set<size_t> done;
  find_parallel(recipes, 2, [&](CompileResult&& result) {
    EXPECT_EQ(result.error, nullptr) << to_text(recipes[result.index]);
    EXPECT_FALSE(result.code.cubin.empty());
    done.insert(result.index);
  });
  EXPECT_EQ(done.size(), recipes.size());
  find_parallel(recipes, 1,
                [&](CompileResult&& result) { EXPECT_EQ(result.code.cubin, find_code(recipes[result.index].config, 90)->cubin); });
}

}  // namespace
}  // namespace speedlight::cli
