#include "store/recipe.h"

#include <algorithm>

#include "plan/plan.h"
#include "tests/store/fixture.h"

namespace speedlight {
namespace {

TEST(Recipe, RoundTrip) {
  const auto recipes = parse_recipes("# shipped\n\npack.e2 @ sm_120\n  pack.e4@sm_90  # four bytes\r\npack.e2 @ compute_80\n");
  ASSERT_EQ(recipes.size(), 3u);
  EXPECT_EQ(to_text(recipes[0]), "pack.e2 @ sm_120");
  EXPECT_EQ(to_text(recipes[1]), "pack.e4 @ sm_90");
  EXPECT_EQ(to_text(recipes[2]), "pack.e2 @ compute_80");
  EXPECT_EQ(recipes[2].target, ptx_target);
}

TEST(Recipe, ErrorsNameTheLine) {
  for (const char* bad : {"pack.e2", "pack.e2 @ 120", "pack.e2 @ sm_", "pack.e2 @ sm_12x", "pack.e2 @ sm_70", "pack.e2 @ sm_080",
                          "pack.e2 @ compute_", "pack.e2 @ compute_70", "sack.e2 @ sm_120"}) {
    try {
      parse_recipes(std::string("pack.e2 @ sm_120\n") + bad);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::invalid_argument);
      EXPECT_TRUE(std::string(error.what()).starts_with("line 2: ")) << error.what();
    }
  }
}

TEST(BundledConfigs, PtxIsWhatCallsLaunchOnSm80) {
  const auto machine_code = bundled_configs(80), ptx = bundled_configs(ptx_target);
  EXPECT_EQ(machine_code, shipped_configs(80));
  const auto of_tools = [](const KernelConfig& config) {
    return std::holds_alternative<ReferenceConfig>(config) || std::holds_alternative<CeilingConfig>(config) ||
           std::holds_alternative<DigestConfig>(config);
  };
  EXPECT_EQ(i64(ptx.size()) + std::ranges::count_if(machine_code, of_tools), i64(machine_code.size()));
  for (const KernelConfig& config : ptx) {
    EXPECT_FALSE(of_tools(config)) << to_text(config);
    EXPECT_TRUE(runs_on(config, 80)) << to_text(config);
  }
}

TEST(Recipe, CompileParallelReportsEachOnce) {
  using store::have_nvrtc;
  SPEEDLIGHT_NEEDS_NVRTC();
  std::vector<Recipe> recipes = parse_recipes("pack.e2 @ sm_80\npack.e4 @ sm_86\npack.e2 @ sm_120\n");
  recipes.push_back({store::pack_config(), 999});  // a target that no compiler knows
  std::vector<int> reports(recipes.size());
  compile_parallel(recipes, 2, [&](CompileResult&& result) {
    ++reports[result.index];
    EXPECT_EQ(result.error != nullptr, result.index == 3);
    EXPECT_EQ(result.code.cubin.empty(), result.index == 3);
  });
  EXPECT_EQ(reports, (std::vector<int>{1, 1, 1, 1}));
  EXPECT_THROW(compile_parallel(recipes, 2, [](CompileResult&&) { throw std::runtime_error("enough"); }), std::runtime_error);
}

}  // namespace
}  // namespace speedlight
