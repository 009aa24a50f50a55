// The canonical text of configs: unique, stable, and the inverse of its parser.
#include "plan/kernel.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <random>
#include <set>
#include "plan/fields.h"
#include "plan/plan.h"
#include "problem/error.h"

namespace speedlight {
namespace {

constexpr int targets[] = {80, 86, 90, 120};

// Fills every field of a config with any value its type may hold.
struct Randomiser {
  std::mt19937_64 random{7};

  u64 draw(u64 below) { return random() % below; }
  template <class N>
  void number(std::string_view, std::string_view, N& value) {
    value = N(draw(4) ? draw(9) : random());
  }
  template <class N>
  void number_unless(std::string_view, std::string_view, N& value, const N& same) {
    value = draw(3) ? same : N(random());
  }
  template <class E>
  void word(std::string_view, E& value) {
    value = E(draw(plan::EnumText<E>::names.size()));
  }
  void flag(std::string_view, bool& value) { value = draw(2); }
  template <class T, class F>
  void group(std::string_view, T& member, F visit) {
    visit(*this, member);
  }
};

template <class C>
void round_trip_random() {
  Randomiser randomiser;
  std::set<std::string> texts;
  std::vector<C> distinct;
  for (int i = 0; i < 2000; ++i) {
    C config;
    plan::fields(randomiser, config);
    const std::string text = to_text(config);
    ASSERT_EQ(std::get<C>(parse_config(text)), config) << text;
    texts.insert(text);
    if (std::ranges::find(distinct, config) == distinct.end()) distinct.push_back(config);
  }
  EXPECT_EQ(texts.size(), distinct.size()) << "two configs share a text";
}

TEST(ConfigText, RoundTripsWhateverTheFieldsHold) {
  round_trip_random<ForwardConfig>();
  round_trip_random<BackwardConfig>();
  round_trip_random<PreprocessConfig>();
  round_trip_random<PostprocessConfig>();
  round_trip_random<PackConfig>();
  round_trip_random<ReferenceConfig>();
}

TEST(ConfigText, RoundTripsEveryShippedConfigAndNamesItsSymbolUniquely) {
  std::set<std::string> symbols, texts;
  for (const int target : targets)
    for (const KernelConfig& config : shipped_configs(target)) {
      EXPECT_EQ(parse_config(to_text(config)), config) << to_text(config);
      texts.insert(to_text(config));
      symbols.insert(kernel_symbol(config));
    }
  EXPECT_EQ(symbols.size(), texts.size());
}

TEST(ConfigText, IsWhatCachesAlreadyHold) {
  // A change here makes every cached kernel and bundle stale.
  const Spec spec{.dtype = DType::bf16, .head_dim = 128, .value_dim = 128, .mask = MaskKind::band};
  EXPECT_EQ(to_text(ForwardConfig{spec, {.rows = 256, .keys = 64, .warps = 8, .overlap = true}}),
            "fwd.bf16.d128.band.m256n64w8.s16x3.bulk.overlap.b1");
  EXPECT_EQ(to_text(BackwardConfig{spec, {.v_registers = true}}),
            "bwd.bf16.d128.band.single.m64n128w4.c1.q1o1.v_registers.dq1x4.v4.stmatrix.b1");
  EXPECT_EQ(to_text(PreprocessConfig{{.dtype = DType::fp16, .head_dim = 64, .value_dim = 64}}), "bwd_pre.fp16.d64");
  EXPECT_EQ(to_text(PostprocessConfig{{.head_dim = 64, .value_dim = 64}, {64, 64, 2, 2}}), "bwd_post.bf16.d64.m64n64.dq2x2");
  EXPECT_EQ(to_text(PackConfig{4}), "pack.e4");
  EXPECT_EQ(to_text(ReferenceConfig{{.head_dim = 64, .value_dim = 64}, true}), "ref.bf16.d64.backward");
  EXPECT_EQ(to_text(CeilingConfig{}), "ceiling.bf16");
  EXPECT_EQ(to_text(DigestConfig{}), "digest");
  EXPECT_EQ(to_text(ForwardConfig{{.head_dim = 128, .value_dim = 64, .determinism = Determinism::run_to_run, .dropout = true}, {}}),
            "fwd.bf16.d128v64.none.run_to_run.dropout.m128n32w4.s16x3.bulk.b1");
}

TEST(ConfigText, RefusesWhatIsNotCanonical) {
  const auto refusal = [](std::string_view text) -> std::string {
    try {
      parse_config(text);
    } catch (const Error& e) {
      EXPECT_EQ(e.status(), Status::invalid_argument);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("attn.bf16").find("begins with 'attn': must be one of fwd"), std::string::npos);
  EXPECT_NE(refusal("").find("must be one of"), std::string::npos);
  EXPECT_NE(refusal("fwd.fp8.d64").find("at '.fp8.d64' (character 3): expected dtype (one of fp16, bf16, fp32)"), std::string::npos);
  EXPECT_NE(refusal("fwd.bf16.d064").find("without leading zeros"), std::string::npos);
  EXPECT_NE(refusal("fwd.bf16.d99999").find("at most 65535"), std::string::npos);
  EXPECT_NE(refusal("pack.e").find("element_bytes"), std::string::npos);
  EXPECT_NE(refusal("pack.e2.").find("expected the end"), std::string::npos);
  EXPECT_NE(refusal("fwd.bf16.d128v128.none.m128n32w4.s16x3.bulk.b1").find("repeats"), std::string::npos);
  for (const char* text :
       {"fwd.bf16.d128.none.m128n32w4.s16x3.bulk", "fwd.bf16.d128.none.m128n32w4.s16x3.bulk.b1.b1",
        "fwd.bf16.d128.none.plain.m128n32w4.s16x3.bulk.b1", "fwd.bf16.d128.none.m128w4n32.s16x3.bulk.b1", "pack.e-2", "pack. e2"})
    EXPECT_NE(refusal(text), "accepted") << text;
}

TEST(ConfigText, EveryCutOfAShippedTextIsRefusedOrMeansItself) {
  for (const KernelConfig& config : shipped_configs(120)) {
    const std::string text = to_text(config);
    for (std::size_t length = 0; length < text.size(); ++length) {
      try {
        EXPECT_EQ(to_text(parse_config(text.substr(0, length))), text.substr(0, length));
      } catch (const Error& e) {
        EXPECT_EQ(e.status(), Status::invalid_argument);
      }
    }
  }
}

TEST(KernelSource, NamesTheEntryItsBoundsAndEveryField) {
  const KernelConfig config = parse_config("bwd.fp16.d64.none.single.m64n128w4.c2.q1o1.v_registers.dq2x2.v4.stmatrix.b2");
  EXPECT_EQ(
      kernel_source(config),
      "#include \"kernels/backward.h\"\n\nusing namespace speedlight;\n\n"
      "extern \"C\" __global__ void __launch_bounds__(128, 2)\n"
      "speedlight_bwd_fp16_d64_none_single_m64n128w4_c2_q1o1_v_registers_dq2x2_v4_stmatrix_b2(const __grid_constant__ BackwardParams "
      "params) {\n"
      "  constexpr BackwardConfig config{.spec = {.dtype = DType::fp16, .head_dim = 64, .value_dim = 64, .mask = MaskKind::none, .score = "
      "Score::plain, .determinism = Determinism::none, .dropout = false}, .tuning = {.schedule = BackwardSchedule::single, .rows = 64, "
      ".keys = "
      "128, .warps = 4, .chunks = 2, .q_stages = 1, .do_stages = 1, .v_registers = true, .bulk_loads = false, "
      ".finish = false, .dq_warps_m = 2, "
      ".dq_warps_n = 2, "
      ".add = VectorAdd::v4, .store = MatrixStore::stmatrix, .blocks = 2}};\n"
      "  kernels::backward<config>(params);\n}\n");
}

TEST(RunsOn, AsksForInstructionsAndSharedMemory) {
  const KernelConfig bulk = parse_config("fwd.bf16.d128.none.m128n32w4.s16x3.bulk.b1");
  EXPECT_TRUE(runs_on(bulk, 90) && runs_on(bulk, 120));
  EXPECT_FALSE(runs_on(bulk, 80) || runs_on(bulk, 86));
  const KernelConfig deep = parse_config("fwd.bf16.d128.none.m128n64w4.s16x4.cp_async.b1");  // 128 KiB
  EXPECT_TRUE(runs_on(deep, 80) && runs_on(deep, 90));
  EXPECT_FALSE(runs_on(deep, 86) || runs_on(deep, 120));
  const KernelConfig adds = parse_config("bwd.bf16.d64.none.single.m64n128w4.c1.q1o1.dq1x4.v4.plain.b1");
  EXPECT_TRUE(runs_on(adds, 90));
  EXPECT_FALSE(runs_on(adds, 86));
  EXPECT_FALSE(runs_on(parse_config("pack.e3"), 90));
  EXPECT_TRUE(runs_on(parse_config("bwd_post.bf16.d64.m64n64.dq2x2"), 80));
  EXPECT_FALSE(runs_on(parse_config("bwd_post.bf16.d64.m64n64.dq0x2"), 80));
  EXPECT_FALSE(runs_on(parse_config("bwd_post.bf16.d64.m64n128.dq2x2"), 80));
  EXPECT_FALSE(runs_on(parse_config("fwd.bf16.d96.none.m128n32w4.s16x3.bulk.b1"), 90)) << "not a head dim of this version";
}

TEST(Shipped, EveryTargetHasTheKernelsOfBothDtypesHeadDimsAndMasks) {
  for (const int target : targets) {
    const auto configs = shipped_configs(target);
    std::set<std::string> texts;
    i64 forward = 0, backward = 0, others = 0;
    for (const KernelConfig& config : configs) {
      EXPECT_TRUE(runs_on(config, target)) << to_text(config) << " on sm_" << target;
      texts.insert(to_text(config));
      const bool is_forward = std::holds_alternative<ForwardConfig>(config), is_backward = std::holds_alternative<BackwardConfig>(config);
      ++(is_forward ? forward : is_backward ? backward : others);
    }
    EXPECT_EQ(texts.size(), configs.size()) << "a config is listed twice";
    EXPECT_GE(forward, 8) << target;
    EXPECT_GE(backward, 12) << target;
    EXPECT_GE(others, 8) << target;
  }
}

}  // namespace
}  // namespace speedlight
