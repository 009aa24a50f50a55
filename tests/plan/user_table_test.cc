// Rows of the user's own table: their text, which problems they serve, and what a plan does with them.
#include "plan/user_table.h"
#include <gtest/gtest.h>
#include <algorithm>
#include "plan/plan.h"
#include "problem/error.h"
#include "tests/plan/cards.h"
#include "tests/problem/dense.h"

namespace speedlight {
namespace {

const KernelConfig& main_of(const Plan& plan) {
  return std::ranges::find_if(plan.launches, [](const PlannedLaunch& l) { return l.step == Step::forward || l.step == Step::backward; })
      ->config;
}

// A row for the problem with another tuning than the tables give it.
TunedRow row_for(const Problem& p, Pass pass, const DeviceFacts& card) {
  TunedRow row;
  row.config = main_of(pass == Pass::forward ? plan_forward(p, card) : plan_backward(p, card));
  if (auto* f = std::get_if<ForwardConfig>(&row.config)) f->tuning.keys = 64, f->tuning.step = 16, f->tuning.stages = 2;
  if (auto* b = std::get_if<BackwardConfig>(&row.config)) b->tuning = backward_tunings(card.target, int(p.head_dim), p.masked()).back();
  row.target = card.target, row.card = card.name, row.shape = problem_class(p, pass, card);
  row.ms = 1.25, row.machine = "NVIDIA H200", row.date = "2026-01-31", row.commit = "0123abc";
  return row;
}

TEST(UserTable, TextRoundTrips) {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const TunedRow row = row_for(dense(4, 16, 16, 2048, 2048, 128), pass, rtx5090);
    const std::string text = to_text(row);
    const TunedRow read = parse_tuned_row(text);
    EXPECT_EQ(to_text(read), text);
    EXPECT_EQ(read.config, row.config);
    EXPECT_EQ(read.shape, row.shape);
    EXPECT_EQ(read.machine, "NVIDIA H200");
    EXPECT_TRUE(same_place(read, row));
  }
}

TEST(UserTable, ARowThatFinishesAddsInOrderThoughNobodyAsks) {
  const Problem p = dense(4, 16, 16, 2048, 2048, 128);
  TunedRow row = row_for(p, Pass::backward, h200);
  auto& config = std::get<BackwardConfig>(row.config);
  for (const bool finish : {true, false}) {
    config.tuning.finish = finish;
    const UserTable table{{parse_tuned_row(to_text(row))}};
    const auto& planned = std::get<BackwardConfig>(main_of(plan_backward(p, h200, nullptr, &table)));
    EXPECT_EQ(planned.tuning, config.tuning);
    EXPECT_EQ(planned.ordered(), finish);
  }
}

TEST(UserTable, BadRowsAreSkippedAndTheFirstIsNamed) {
  const std::string good = to_text(row_for(dense(4, 16, 16, 2048, 2048, 128), Pass::forward, h200));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& bad :
       {with("fwd.", "fwx."), with("target=sm_90", "target=sm_91"), with("walk=", "walk=x"), with("ms=1.25", "ms=-1"),
        with("ms=1.25", "ms=nan"), with(" date", " more=1 date"), good + " ", good.substr(0, good.rfind(' ')),
        with("\"NVIDIA H200\"", "\"NVIDIA H200"), std::string("pack.e2"), good + " x=1"}) {
    std::string fault;
    const UserTable table = parse_user_table("# rows\n\n" + bad + "\r\n" + good + "\n", fault);
    const std::size_t expected = bad == good + " " ? 2 : 1;  // blanks at the end do no harm
    EXPECT_EQ(table.rows.size(), expected) << bad;
    EXPECT_EQ(fault.starts_with("line 3: "), expected == 1) << fault;
  }
  std::string fault;
  EXPECT_TRUE(parse_user_table("", fault).rows.empty());
  EXPECT_TRUE(fault.empty());
  parse_user_table("bad\nworse\nworst", fault);
  EXPECT_NE(fault.find("(and 2 more)"), std::string::npos) << fault;
}

TEST(UserTable, PlanTakesTheRowAndSaysSo) {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const auto plan = [&](const Problem& p, const DeviceFacts& card, const UserTable* user) {
      return pass == Pass::forward ? plan_forward(p, card, nullptr, user) : plan_backward(p, card, nullptr, user);
    };
    const Problem p = dense(4, 16, 16, 2048, 2048, 128);
    const TunedRow row = row_for(p, pass, h200);
    const UserTable table{{row}};
    ASSERT_NE(main_of(plan(p, h200, nullptr)), row.config);
    const Plan made = plan(p, h200, &table);
    EXPECT_EQ(main_of(made), row.config);
    EXPECT_NE(explain(made).find("tuned for this card on NVIDIA H200 (2026-01-31, commit 0123abc): 1.25 ms"), std::string::npos);
    Problem half = dense(4, 16, 16, 2048, 2048, 128, DType::fp16);
    EXPECT_NE(explain(plan(half, h200, &table)).find("tuned for this card"), std::string::npos) << "for any dtype";
    EXPECT_NE(explain(plan(dense(8, 16, 16, 1024, 1024, 128), h200, &table)).find("tuned for this card"), std::string::npos)
        << "one class away";

    const auto untouched = [&](const Problem& other, const DeviceFacts& card) {
      return main_of(plan(other, card, &table)) == main_of(plan(other, card, nullptr));
    };
    EXPECT_TRUE(untouched(p, rtx5090)) << "another card";
    EXPECT_TRUE(untouched(dense(4, 16, 16, 2048, 2048, 64), h200)) << "another head dim";
    EXPECT_TRUE(untouched(dense(64, 16, 16, 256, 256, 128), h200)) << "far shorter";
    EXPECT_TRUE(untouched(dense(1, 1, 1, 2048, 2048, 128), h200)) << "far less work";
    Problem masked = p;
    masked.window = causal;
    EXPECT_TRUE(untouched(masked, h200)) << "a mask";
  }
}

TEST(UserTable, RowsThatTheCardCannotRunAreNotTaken) {
  const Problem p = dense(4, 16, 16, 2048, 2048, 128);
  TunedRow row = row_for(p, Pass::forward, rtx5090);
  auto& tuning = std::get<ForwardConfig>(row.config).tuning;
  tuning.keys = 128, tuning.stages = 8;
  const UserTable large{{row}};
  EXPECT_EQ(main_of(plan_forward(p, rtx5090, nullptr, &large)), main_of(plan_forward(p, rtx5090))) << "shared memory";
  tuning = {.rows = 100};
  const UserTable invalid{{row}};
  EXPECT_EQ(main_of(plan_forward(p, rtx5090, nullptr, &invalid)), main_of(plan_forward(p, rtx5090)));
  const ForwardTuning forced = forward_tunings(120, 128, false).back();
  const UserTable good{{row_for(p, Pass::forward, rtx5090)}};
  EXPECT_EQ(std::get<ForwardConfig>(main_of(plan_forward(p, rtx5090, &forced, &good))).tuning, forced) << "force wins";
}

TEST(UserTable, ClassesAreCappedWhereMoreMakesNoDifference) {
  const ProblemClass base = problem_class(dense(4, 16, 16, 8192, 8192, 128), Pass::forward, h200);
  EXPECT_EQ(base, (ProblemClass{13, 9, 11}));
  EXPECT_EQ(problem_class(dense(16, 16, 16, 8192, 8192, 128), Pass::forward, h200), base);
  EXPECT_EQ(problem_class(dense(4, 16, 4, 8192, 8192, 128), Pass::backward, h200).walk, 15)
      << "keys of a group walk the rows of its four heads";
  EXPECT_EQ(problem_class(dense(0, 0, 0, 0, 0, 128), Pass::backward, h200), ProblemClass{});
  EXPECT_EQ(longest_walk(11), 2896);
  Problem lone = dense(1, 1, 1, 512, 512, 128), many = dense(64, 1, 1, 512, 512, 128);
  lone.determinism = many.determinism = Determinism::batch_invariant;
  EXPECT_EQ(problem_class(lone, Pass::backward, h200), problem_class(many, Pass::backward, h200)) << "no batch may choose the tile";
}

}  // namespace
}  // namespace speedlight
