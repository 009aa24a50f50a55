// Successive halving with a made-up clock: each visit takes as long as the candidate's time says.
#include "tools/halving.h"
#include <gtest/gtest.h>
#include <algorithm>
#include "tools/tuner.h"

namespace speedlight::cli {
namespace {

struct Fake {
  std::vector<double> ms;     // of each candidate
  std::vector<int> visits;    // in order
  double now = 0, drift = 0;  // seconds; the machine slows by `drift` a visit
  int stop_after = 1 << 30;

  explicit Fake(std::vector<double> times) : ms(std::move(times)) {}
  std::vector<Contender> run(const HalvingOptions& options = {}) {
    return halve(
        int(ms.size()), [&](int i) { return visits.push_back(i), now += 0.01, ms[size_t(i)] * (1 + drift * double(visits.size())); },
        [&] { return now; }, [&] { return int(visits.size()) >= stop_after; }, options);
  }
};

TEST(Halving, FindsTheFastestAndTimesTheSlowLittle) {
  std::vector<double> ms;
  for (int i = 0; i < 24; ++i) ms.push_back(1 + 0.01 * ((i * 7) % 24));  // the fastest is 0
  std::swap(ms[0], ms[17]);
  Fake fake(ms);
  const auto order = fake.run({.screened = 24});
  ASSERT_EQ(order.size(), 24u);
  EXPECT_EQ(order[0].index, 17);
  EXPECT_TRUE(order[0].final_round && order[3].final_round && !order[4].final_round);
  EXPECT_TRUE(std::ranges::is_sorted(order.begin() + 4, order.end(), {}, &Contender::median));
  EXPECT_EQ(order[0].times.size(), 1u + 3 * 3 + 9);
  EXPECT_EQ(order.back().times.size(), 4u);
}

TEST(Halving, VisitsInTurnSoThatDriftFavoursNobody) {
  Fake fake({1.02, 1.00, 1.01});
  fake.drift = 0.002;
  EXPECT_EQ(fake.run()[0].index, 1);
  for (size_t i = 0; i < fake.visits.size(); ++i) EXPECT_EQ(fake.visits[i], int(i % 3));
}

TEST(Halving, HopelessCandidatesGoAtOnce) {
  Fake fake({1, 1.01, 1.02, 1.03, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5});
  fake.run();
  EXPECT_EQ(std::ranges::count_if(fake.visits, [](int i) { return i >= 4; }), 12);
}

TEST(Halving, TheFirstRoundOnlyScreens) {
  std::vector<double> ms;
  for (int i = 0; i < 100; ++i) ms.push_back(1 + 0.001 * i);
  Fake fake(ms);
  const auto order = fake.run({.screened = 10});
  EXPECT_EQ(order[0].index, 0);
  EXPECT_EQ(std::ranges::count_if(order, [](const Contender& c) { return c.times.size() == 1; }), 90);
  EXPECT_EQ((Contender{0, {9, 2, 1, 3}, false}.median()), 2);
  EXPECT_EQ((Contender{0, {9, 2, 1, 3}, false}.spread()), 1);
  EXPECT_EQ((Contender{0, {9}, false}.median()), 9);
}

TEST(Halving, KeepsOneToTheEndHoweverSlow) {
  std::vector<double> ms;
  for (int i = 0; i < 24; ++i) ms.push_back(1 + 0.01 * i);
  ms[9] = 7;
  for (const int finalists : {1, 4}) {
    Fake fake(ms);
    const auto order = fake.run({.finalists = finalists, .keep = 9});
    ASSERT_EQ(order.size(), 24u);
    EXPECT_EQ(std::ranges::count(order, true, &Contender::final_round), finalists + 1);
    EXPECT_EQ(order[0].index, 0);
    EXPECT_EQ(order[size_t(finalists)].index, 9);
    EXPECT_EQ(order[size_t(finalists)].times.size(), order[0].times.size());
  }
  Fake fast({1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7});
  EXPECT_EQ(std::ranges::count(fast.run({.keep = 0}), true, &Contender::final_round), 4);
}

TEST(Halving, KeepsItsBudgetButTimesEachOnce) {
  Fake fake(std::vector<double>(24, 1.0));
  const auto order = fake.run({.budget_seconds = 0});
  EXPECT_EQ(fake.visits.size(), 24u);
  EXPECT_EQ(order.size(), 24u);
  Fake some(std::vector<double>(24, 1.0));
  some.run({.budget_seconds = 0.5});
  EXPECT_NEAR(double(some.visits.size()), 50, 2);
}

TEST(Halving, StopsWhenAsked) {
  Fake fake(std::vector<double>(24, 1.0));
  fake.stop_after = 10;
  EXPECT_EQ(fake.run().size(), 10u);
  EXPECT_EQ(fake.visits.size(), 10u);
  Fake none({});
  EXPECT_TRUE(none.run().empty());
}

TEST(Pick, ThePlannedOneStaysUnlessBeatenClearly) {
  const std::vector<Contender> order{{3, {1.000}, true}, {0, {1.004}, true}, {5, {1.5}, false}};
  EXPECT_EQ(pick(order, 0), 0);
  EXPECT_EQ(pick(order, 5), 3);
  EXPECT_EQ(pick(order, 0, 0.001), 3);
  EXPECT_EQ(pick({}, 0), -1);
}

}  // namespace
}  // namespace speedlight::cli
