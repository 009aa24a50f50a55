// Real kernels: skipped where nvdisasm is not there.
#include "model/predict.h"
#include <gtest/gtest.h>
#include "model/disassemble.h"
#include "problem/tensors.h"

namespace speedlight::model {
namespace {

class RealCode : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_nvdisasm()) GTEST_SKIP() << "nvdisasm was not found";
  }
};

TEST(Mma, OfATileFollowFromItsShape) {
  const auto forward = std::get<ForwardConfig>(parse_config("fwd.bf16.d128.none.m256n64w8.s16x3.bulk.b1"));
  EXPECT_EQ(stage_mma(forward), 256);
  EXPECT_EQ(step_mma(forward), 64);
}

TEST_F(RealCode, ForwardHoldsItsTileAndLittleElse) {
  const KernelCode code = analyse(parse_config("fwd.bf16.d128.none.m128n32w4.s16x3.bulk.b2"), 120);
  ASSERT_EQ(code.roles.size(), 1u);
  const Counts& whole = code.roles[0].whole;
  EXPECT_EQ(whole.mma, 128);
  EXPECT_EQ(whole.ldmatrix, 32);
  EXPECT_EQ(whole.mufu, 32);  // one exponential an element: 32 rows x 32 keys / 32 lanes, no redo
  EXPECT_LT(whole.instructions, 3 * whole.mma);
  EXPECT_EQ(code.roles[0].masked.mma, 64);
  EXPECT_GT(code.once.instructions, 100);
}

TEST_F(RealCode, TimesGrowWithTheWorkAndCausalHalvesThem) {
  const auto card = *find_card("rtx5090");
  Problem p;
  p.batch = 32, p.heads_q = p.heads_kv = 16, p.head_dim = p.value_dim = 128, p.dtype = DType::bf16, p.scale = 0.1f;
  const auto time = [&](i64 seqlen, bool causal) {
    p.seqlen_q = p.seqlen_k = seqlen;
    p.q = p.k = p.v = p.out = contiguous(p.dtype, seqlen, 16, 128);
    p.window.right = causal ? 0 : Window::unlimited;
    const Plan plan = plan_forward(p, card);
    const Prediction made = predict(plan, analyse(plan.launches.back().config, card.target));
    EXPECT_LT(made.whole_share, 1);
    EXPECT_LE(made.whole_share, made.inner_share);
    EXPECT_LE(made.hidden_ms, made.ms);
    EXPECT_EQ(made.units.bounding(), "tensor");
    return made.ms;
  };
  const double full = time(4096, false), causal = time(4096, true), longer = time(8192, false);
  EXPECT_NEAR(longer / full, 4, 0.2);
  EXPECT_GT(causal / full, 0.49);
  EXPECT_LT(causal / full, 0.65);
}

}  // namespace
}  // namespace speedlight::model
