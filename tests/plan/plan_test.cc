// What a plan is made of: launches, grids, workspace, roofline; and that it depends on nothing but its arguments.
#include "plan/plan.h"
#include <gtest/gtest.h>
#include <algorithm>
#include "config/backward_grid.h"
#include "config/forward_shared.h"
#include "config/pack_geometry.h"
#include "problem/error.h"
#include "problem/visible.h"
#include "tests/plan/cards.h"
#include "tests/problem/dense.h"

namespace speedlight {
namespace {

std::vector<Step> steps(const Plan& plan) {
  std::vector<Step> list;
  for (const PlannedLaunch& launch : plan.launches) list.push_back(launch.step);
  return list;
}
const PlannedLaunch& launch_of(const Plan& plan, Step step) { return *std::ranges::find(plan.launches, step, &PlannedLaunch::step); }
template <class C>
const C& config_of(const Plan& plan, Step step) {
  return std::get<C>(launch_of(plan, step).config);
}

std::vector<WorkspaceLayout::Region> regions(const WorkspaceLayout& w) {
  return {w.packed_q,  w.packed_k, w.packed_v,  w.packed_out,     w.packed_dout, w.packed_dq, w.packed_dk,
          w.packed_dv, w.row_lse2, w.row_delta, w.dq_accumulator, w.dq_turns,    w.ticket};
}

void expect_disjoint(const WorkspaceLayout& w) {
  auto list = regions(w);
  std::erase_if(list, [](const auto& r) { return r.bytes == 0; });
  std::ranges::sort(list, {}, &WorkspaceLayout::Region::offset);
  i64 end = 0;
  for (const auto& r : list) {
    EXPECT_GE(r.offset, end);
    EXPECT_EQ(r.offset % 256, 0);
    end = r.offset + r.bytes;
  }
  EXPECT_LE(end, w.total);
}

TEST(Plan, ForwardIsOneLaunchWithoutWorkspace) {
  const Plan plan = plan_forward(dense(3, 8, 2, 1000, 777, 128), h200);
  ASSERT_EQ(steps(plan), std::vector{Step::forward});
  const auto& config = config_of<ForwardConfig>(plan, Step::forward);
  const PlannedLaunch& launch = plan.launches[0];
  EXPECT_EQ(plan.geometry.q_tiles, ceil_div(1000, i32(config.tuning.rows)));
  EXPECT_EQ(launch.grid, 24u * u32(plan.geometry.q_tiles));
  EXPECT_EQ(launch.threads, config.threads());
  EXPECT_EQ(launch.shared, forward_shared(config).bytes);
  EXPECT_FALSE(launch.reason.empty());
  EXPECT_EQ(plan.workspace.total, 0);
}

TEST(Plan, BackwardIsThreeLaunchesThatShareOneGeometry) {
  for (const i64 dim : {64, 128}) {
    const Problem p = dense(3, 8, 2, 1000, 777, dim);
    const Plan plan = plan_backward(p, h200);
    ASSERT_EQ(steps(plan), (std::vector{Step::preprocess, Step::backward, Step::postprocess}));
    const auto& config = config_of<BackwardConfig>(plan, Step::backward);
    EXPECT_EQ(config_of<PostprocessConfig>(plan, Step::postprocess).layout, config.dq_layout());
    EXPECT_EQ(plan.geometry.rows_padded, round_up(1000, i32(config.tuning.rows)));
    EXPECT_EQ(plan.geometry.k_tiles, ceil_div(777, i32(config.tuning.keys)));
    EXPECT_EQ(launch_of(plan, Step::backward).grid, 6u * u32(plan.geometry.k_tiles));
    EXPECT_EQ(launch_of(plan, Step::preprocess).grid, 24u * u32(ceil_div(plan.geometry.rows_padded, 64)));
    EXPECT_EQ(plan.workspace.row_lse2.bytes, 24 * i64(plan.geometry.rows_padded) * 4);
    EXPECT_EQ(plan.workspace.row_delta.bytes, plan.workspace.row_lse2.bytes);
    EXPECT_EQ(plan.workspace.dq_accumulator.bytes, 24 * i64(plan.geometry.rows_padded) * dim * 4);
    expect_disjoint(plan.workspace);
  }
}

TEST(Plan, UnwantedGradientsCostNothing) {
  Problem p = dense(1, 4, 4, 300, 300, 64);
  p.want_dq = false;
  const Plan keys_only = plan_backward(p, h200);
  EXPECT_EQ(steps(keys_only), (std::vector{Step::preprocess, Step::backward}));
  EXPECT_EQ(keys_only.workspace.dq_accumulator.bytes, 0);
  p.want_dq = true, p.want_dk = p.want_dv = false;
  EXPECT_EQ(steps(plan_backward(p, h200)), (std::vector{Step::preprocess, Step::backward, Step::postprocess}));
  p.want_dq = false;
  EXPECT_TRUE(plan_backward(p, h200).launches.empty());
}

TEST(Plan, EmptyProblemsLaunchOnlyWhatWritesAnElement) {
  EXPECT_TRUE(plan_forward(dense(0, 4, 4, 8, 8, 64), h200).launches.empty());
  EXPECT_TRUE(plan_forward(dense(2, 0, 0, 8, 8, 64), h200).launches.empty());
  EXPECT_TRUE(plan_forward(dense(2, 4, 4, 0, 8, 64), h200).launches.empty());
  EXPECT_EQ(steps(plan_forward(dense(2, 4, 4, 8, 0, 64), h200)), std::vector{Step::forward}) << "writes 0 and -inf";
  EXPECT_TRUE(plan_backward(dense(0, 4, 4, 8, 8, 64), h200).launches.empty());
  EXPECT_TRUE(plan_backward(dense(2, 4, 4, 0, 0, 64), h200).launches.empty());
  EXPECT_EQ(steps(plan_backward(dense(2, 4, 4, 0, 8, 64), h200)), std::vector{Step::backward}) << "writes zero dK, dV";
  EXPECT_EQ(steps(plan_backward(dense(2, 4, 4, 8, 0, 64), h200)), (std::vector{Step::preprocess, Step::postprocess})) << "writes zero dQ";
}

TEST(Plan, MaskIsCompiledInOnlyWhereItHidesSomething) {
  const auto mask = [](i64 seqlen_q, i64 seqlen_k, Window window) {
    Problem p = dense(1, 1, 1, seqlen_q, seqlen_k, 64);
    p.window = window;
    return config_of<ForwardConfig>(plan_forward(p, h200), Step::forward).spec.mask;
  };
  EXPECT_EQ(mask(8, 8, {}), MaskKind::none);
  EXPECT_EQ(mask(8, 8, causal), MaskKind::band);
  EXPECT_EQ(mask(1, 8, causal), MaskKind::none) << "the last row sees all";
  EXPECT_EQ(mask(8, 8, {7, 7}), MaskKind::none);
  EXPECT_EQ(mask(8, 8, {6, 7}), MaskKind::band);
  EXPECT_EQ(mask(8, 8, {-1, -1}), MaskKind::band);
}

TEST(Plan, PackingTakesOnlyWhatNeedsItAndEachElementSizeItsKernel) {
  Problem p = dense(2, 4, 2, 50, 60, 64);
  p.q.alignment = 2;
  p.v.row = 0;
  p.out.dtype = DType::fp32, p.out.alignment = 4;
  p.dk.head = 65, p.dk.row = 131, p.dk.batch = 131 * 60;
  const Plan plan = plan_backward(p, h200);
  ASSERT_EQ(steps(plan),
            (std::vector{Step::pack_inputs, Step::pack_inputs, Step::preprocess, Step::backward, Step::postprocess, Step::unpack_outputs}));
  EXPECT_EQ(plan.launches[0].config, KernelConfig(PackConfig{2}));
  ASSERT_EQ(plan.launches[0].copies.size(), 2u);
  EXPECT_EQ(plan.launches[0].copies[0].operand, Operand::q);
  EXPECT_EQ(plan.launches[0].copies[0].first_block, 0);
  EXPECT_EQ(plan.launches[0].copies[1].operand, Operand::v);
  EXPECT_EQ(plan.launches[0].copies[1].first_block, pack_blocks(2 * 50 * 4 * 64, 2));
  EXPECT_EQ(plan.launches[0].grid, u32(pack_blocks(2 * 50 * 4 * 64, 2) + pack_blocks(2 * 60 * 2 * 64, 2)));
  EXPECT_EQ(plan.launches[1].config, KernelConfig(PackConfig{4}));
  EXPECT_EQ(plan.launches[1].copies[0].operand, Operand::out);
  EXPECT_EQ(plan.launches[5].copies[0].operand, Operand::dk);
  EXPECT_EQ(plan.workspace.packed_q.bytes, 2 * 50 * 4 * 64 * 2);
  EXPECT_EQ(plan.workspace.packed_out.bytes, 2 * 50 * 4 * 64 * 4);
  EXPECT_EQ(plan.workspace.packed_dk.bytes, 2 * 60 * 2 * 64 * 2);
  EXPECT_EQ(plan.workspace.packed_k.bytes, 0);
  expect_disjoint(plan.workspace);
  Problem empty = dense(2, 4, 2, 50, 0, 64);
  empty.k.alignment = empty.v.alignment = 2;
  EXPECT_EQ(steps(plan_forward(empty, h200)), std::vector{Step::forward});
}

TEST(Plan, WorkspaceIsLinearInTokens) {
  for (const i64 dim : {64, 128}) {
    const i64 once = plan_backward(dense(2, 16, 4, 2048, 2048, dim), h200).workspace.total;
    EXPECT_EQ(plan_backward(dense(4, 16, 4, 2048, 2048, dim), h200).workspace.total, 2 * once);
    EXPECT_EQ(plan_backward(dense(2, 16, 4, 4096, 4096, dim), h200).workspace.total, 2 * once);
    EXPECT_LE(double(once), 4.0 * 2 * 2048 * 16 * double(dim) * 1.05) << "fp32 dQ and 5 %";
  }
}

TEST(Plan, IsAPureFunction) {
  const Problem p = dense(2, 8, 2, 700, 900, 128);
  const std::string first = explain(plan_backward(p, rtx5090));
  setenv("SPEEDLIGHT_CARD", "a100", 1);
  plan_forward(p, *find_card("a100"));
  EXPECT_EQ(explain(plan_backward(p, rtx5090)), first);
  unsetenv("SPEEDLIGHT_CARD");
}

TEST(Plan, KnowsACardByItsFactsAlone) {
  // The twin: whatever GPU is there, a plan for the RTX 5090 has sm_120's rows, and its SM count decides about small tiles.
  const Problem p = dense(4, 8, 8, 640, 640, 64);
  EXPECT_EQ(plan_forward(p, rtx5090).card, rtx5090);
  DeviceFacts wide = rtx5090;
  wide.sms = 100000;
  EXPECT_LT(config_of<ForwardConfig>(plan_forward(p, wide), Step::forward).tuning.rows, 128);
  wide.sms = 10;
  EXPECT_GE(config_of<ForwardConfig>(plan_forward(p, wide), Step::forward).tuning.rows, 128);
}

TEST(Plan, EveryKnownCardRunsItsPlans) {
  for (const DeviceFacts& card : known_cards()) {
    const auto shipped = shipped_configs(card.target);
    const auto check = [&](const Plan& plan) {
      for (const PlannedLaunch& launch : plan.launches) {
        EXPECT_TRUE(runs_on(launch.config, card.target)) << to_text(launch.config) << " on " << card.name;
        EXPECT_NE(std::ranges::find(shipped, launch.config), shipped.end()) << to_text(launch.config) << " does not ship";
      }
    };
    for (const i64 batch : {2, 64})  // small tiles, and large ones
      for (const i64 dim : {64, 128})
        for (const i64 seqlen : {1, 100, 160, 512, 4096})
          for (const Window window : {Window{}, causal, Window{100, 0}}) {
            Problem p = dense(batch, 8, 2, seqlen, seqlen, dim, DType::fp16);
            p.window = window;
            check(plan_forward(p, card));
            for (const Determinism determinism : {Determinism::none, Determinism::run_to_run, Determinism::batch_invariant})
              for (const bool want_dq : {true, false}) {
                p.determinism = determinism, p.want_dq = want_dq;
                check(plan_backward(p, card));
              }
          }
  }
}

// Of the architectures that no machine code ships for: the driver makes their code from PTX of sm_80, so nothing newer is planned.
TEST(Plan, OtherArchitecturesGetTheKernelsOfSm80) {
  const auto shipped = shipped_configs(80);
  for (const int capability : {100, 103, 110, 130}) {
    DeviceFacts card = h200;
    card.capability = capability, card.target = target_for(capability);
    for (const i64 dim : {64, 128})
      for (const i64 seqlen : {1, 100, 512, 4096})
        for (const Window window : {Window{}, causal}) {
          Problem p = dense(2, 8, 2, seqlen, seqlen, dim);
          p.window = window;
          for (const Plan& plan : {plan_forward(p, card), plan_backward(p, card)})
            for (const PlannedLaunch& launch : plan.launches) {
              EXPECT_TRUE(runs_on(launch.config, card.target)) << to_text(launch.config) << " on " << capability;
              EXPECT_NE(std::ranges::find(shipped, launch.config), shipped.end()) << to_text(launch.config) << " on " << capability;
            }
        }
  }
}

TEST(Plan, ForcedTuningIsUsedOrRefused) {
  const Problem p = dense(1, 2, 2, 256, 256, 64);
  for (const ForwardTuning& tuning : forward_tunings(90, 64, false))
    EXPECT_EQ(config_of<ForwardConfig>(plan_forward(p, h200, &tuning), Step::forward).tuning, tuning);
  for (const BackwardTuning& tuning : backward_tunings(90, 64, false))
    EXPECT_EQ(config_of<BackwardConfig>(plan_backward(p, h200, &tuning), Step::backward).tuning, tuning);
  const auto status = [&](const ForwardTuning& tuning, const DeviceFacts& card) {
    try {
      plan_forward(p, card, &tuning);
    } catch (const Error& e) {
      return e.status();
    }
    return Status::ok;
  };
  EXPECT_EQ(status({.rows = 100}, h200), Status::invalid_argument);
  EXPECT_EQ(status({.copy = Copy::bulk}, *find_card("a100")), Status::unsupported);
  EXPECT_EQ(status({.keys = 128, .stages = 5}, rtx5090), Status::unsupported);
  EXPECT_EQ(status({.keys = 128, .stages = 5}, h200), Status::ok);
}

TEST(Plan, RefusesCardsAndGridsItCannotServe) {
  DeviceFacts old = h200;
  old.capability = old.target = 75;
  EXPECT_THROW(plan_forward(dense(1, 1, 1, 8, 8, 64), old), Error);
  EXPECT_THROW(plan_backward(dense(0, 1, 1, 8, 8, 64), old), Error);
  try {
    plan_forward(dense(i64(1) << 30, 4, 4, 1, 1, 64), h200);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), Status::unsupported);
    EXPECT_NE(std::string(e.what()).find("4294967296 blocks"), std::string::npos) << e.what();
  }
}

TEST(Plan, CountsFlopsOverVisiblePairs) {
  Problem p = dense(2, 4, 2, 100, 130, 64);
  p.window = {20, 5};
  const Plan forward = plan_forward(p, h200);
  EXPECT_DOUBLE_EQ(forward.flops, 4.0 * 8 * 64 * double(visible_pairs(100, 130, p.window)));
  EXPECT_DOUBLE_EQ(plan_backward(p, h200).flops, 2.5 * forward.flops);
  const Problem large = dense(4, 16, 16, 8192, 8192, 128);
  EXPECT_NEAR(plan_forward(large, rtx5090).roofline_seconds, 4.0 * 64 * 128 * 8192 * 8192 / 209.5e12, 1e-6);
  const Problem decode = dense(32, 32, 32, 1, 8192, 128);
  EXPECT_NEAR(plan_forward(decode, rtx5090).roofline_seconds, 2.0 * 32 * 32 * 8192 * 128 * 2 / 1.79e12, 1e-5) << "bound by reading K and V";
}

TEST(Explain, SaysWhatIsLaunchedAndWhy) {
  Problem p = dense(4, 16, 16, 2048, 2048, 128);
  p.window = causal;
  const std::string text = explain(plan_backward(p, rtx5090));
  for (const char* part : {"backward of batch 4, heads 16 over 16, seqlen 2048 x 2048, head dim 128, bf16, causal", "visible pairs: 50.0 %",
                           "on rtx5090 (capability 12.0, code for sm_120, 170 SMs)", "bwd.bf16.d128.band.", "bwd_post.bf16.d128.",
                           "why: ", "workspace: ", "roofline"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_NE(explain(plan_forward(dense(0, 1, 1, 1, 1, 64), h200)).find("nothing to launch"), std::string::npos);
}

}  // namespace
}  // namespace speedlight
