// Every shipped kernel and a sweep of others on the emulator, over adversarial shapes and adversary modes, against float64.
#include <gtest/gtest.h>

#include <cctype>

#include "planned/cases.h"
#include "planned/run_plan.h"

namespace speedlight {
namespace {

class Kernels : public testing::TestWithParam<std::string> {};

// Each shape runs once; over all shapes every pair of mode values is met.
TEST_P(Kernels, match_float64) {
  const auto cases = emulator::cases_of(parse_config(GetParam()));
  ASSERT_GE(cases.size(), emulator::fewest_modes);
  const auto modes = emulator::pairwise_modes(std::hash<std::string>()(GetParam()), cases.size());
  for (std::size_t i = 0; i < cases.size() && !HasFailure(); ++i) EXPECT_EQ(emulator::CaseRunner(cases[i]).run(modes[i]), "");
}

std::vector<std::string> main_kernels() {
  std::vector<std::string> list;
  for (const auto& [text, entry] : emulator::kernels())
    if (text.starts_with("fwd") || text.starts_with("bwd.")) list.push_back(text);
  return list;
}

INSTANTIATE_TEST_SUITE_P(emulated, Kernels, testing::ValuesIn(main_kernels()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace speedlight
