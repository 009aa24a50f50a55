// The two bases of the log-sum-exp: within 0.6 of a unit in the last place, where sum and product, each rounded, are off by more than one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "attention/lse.h"

namespace speedlight {
namespace {

double units(float value, double exact) {
  const float size = std::abs(value);
  return std::abs(double(value) - exact) / (double(std::nextafter(size, std::numeric_limits<float>::infinity())) - double(size));
}

TEST(Lse, RoundsOnce) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> references(-6000, 6000), sums(0, 16);
  double natural = 0, base2 = 0;
  for (int i = 0; i < 100000; ++i) {
    const float reference = references(random), sum = sums(random);
    if (std::abs(reference) < 100) continue;  // the sum's own rounding counts there
    const float lse = natural_lse(reference, sum);
    natural = std::max(natural, units(lse, (double(reference) + double(sum)) / double(log2_of_e)));
    base2 = std::max(base2, units(base2_lse(lse), double(lse) * double(log2_of_e)));
  }
  EXPECT_LE(natural, 0.6);
  EXPECT_LE(base2, 0.6);
}

}  // namespace
}  // namespace speedlight
