// Repeats and changes of the batch, by digests, on the CPU: right results pass, and each way of not being the same bits is found.
#include "tools/repeats.h"
#include <gtest/gtest.h>
#include <algorithm>
#include "problem/error.h"
#include "tools/problem_options.h"
#include "tools/tuner.h"

namespace speedlight::cli {
namespace {

class RepeatsTest : public testing::Test {
 protected:
  explicit RepeatsTest(i64 batch = 4) : cell_{"problem", dense_problem(DType::bf16, batch, 2, 1, 40, 56, 64, true)} {}

  void flip(void* at, i64 bit) {
    u8 byte = 0;
    machine_.read(&byte, static_cast<u8*>(at) + bit / 8, 1);
    byte ^= u8(1 << bit % 8);
    machine_.write(static_cast<u8*>(at) + bit / 8, &byte, 1);
  }
  // `spoil` is called after every run.
  Repeats repeat(Pass pass, const std::function<void(int)>& spoil) {
    machine_.run(p, Pass::forward, at_);
    int runs = 0;
    return repeater_.repeat(
        p, pass, at_, [&] { machine_.run(p, pass, at_), spoil(runs++); }, 5);
  }
  BatchChange change(Pass pass, const Repeater::Run& run) { return repeater_.change_batch(p, pass, data_, nullptr, 0, run); }

  Cell cell_;
  const Problem& p = cell_.problem;
  Machine machine_{Target{.device = "cpu"}};
  Data data_{machine_, {&cell_, 1}, 2};
  Pointers at_ = data_.pointers(nullptr, 0);
  Repeater repeater_{machine_};
};

TEST_F(RepeatsTest, RightResultsAreEqual) {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const Repeats r = repeat(pass, [](int) {});
    EXPECT_EQ(r.count, 5);
    EXPECT_EQ(r.different, 0);
  }
}

TEST_F(RepeatsTest, OneBitOfAnyResultIsFound) {
  const i64 q = p.batch * 40 * 2 * 64 * 16, k = p.batch * 56 * 64 * 16, lse = p.batch * 2 * 40 * 32;
  for (const auto& [pass, result, bits] : {std::tuple{Pass::forward, at_.out, q},
                                           {Pass::forward, static_cast<void*>(at_.lse), lse},
                                           {Pass::backward, at_.dq, q},
                                           {Pass::backward, at_.dk, k},
                                           {Pass::backward, at_.dv, k}})
    for (const i64 bit : {i64(0), bits - 1}) {
      const Repeats r = repeat(pass, [&](int run) { run == 3 ? flip(result, bit) : void(); });  // runs 0 and 1 are alone
      EXPECT_EQ(r.different, 1) << pass_name(pass) << " bit " << bit;
    }
}

TEST_F(RepeatsTest, WhatIsLeftOutIsFound) {
  Problem half = p;
  half.batch = 2;
  int runs = 0;
  const Repeats r = repeater_.repeat(
      p, Pass::forward, at_, [&] { machine_.run(++runs == 4 ? half : p, Pass::forward, at_); }, 5);
  EXPECT_EQ(r.different, 1);  // the results of the run before are poisoned
}

TEST_F(RepeatsTest, SequencesDoNotDependOnTheirBatch) {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const BatchChange change = this->change(pass, [&](const Problem& q, Pass which, const Pointers& at) { machine_.run(q, which, at); });
    EXPECT_EQ(change.compared, 6);
    EXPECT_TRUE(change.faults.empty()) << change.faults.front();
  }
}

TEST_F(RepeatsTest, WhatDependsOnTheBatchIsFound) {
  const auto faults = [&](Pass pass, const auto& spoils) {
    return change(pass,
                  [&](const Problem& q, Pass which, const Pointers& at) {
                    machine_.run(q, which, at);
                    if (which == pass && spoils(q, at))
                      flip(pass == Pass::forward ? at.out : at.dv, 3);  // of the first sequence of the batch
                  })
        .faults;
  };
  using Faults = std::vector<std::string>;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    EXPECT_EQ(faults(pass, [](const Problem& q, const Pointers&) { return q.batch == 1; }), (Faults{"first alone", "last alone"}));
    EXPECT_EQ(faults(pass, [](const Problem& q, const Pointers&) { return q.batch == 2; }), Faults{"first of two"});
    const void* other = data_.pointers(nullptr, 0, 1).q;
    EXPECT_EQ(faults(pass, [&](const Problem&, const Pointers& at) { return at.q == other; }), Faults{"last, first among others"});
  }
}

struct OneSequence : RepeatsTest {
  OneSequence() : RepeatsTest(1) {}
};
TEST_F(OneSequence, HasNoOtherBatch) {
  const BatchChange change = this->change(Pass::forward, [](const Problem&, Pass, const Pointers&) { FAIL(); });
  EXPECT_EQ(change.compared, 0);
}

TEST(Digests, OfTheCpuAreOfEachRange) {
  Machine machine(Target{.device = "cpu"});
  Digester digester(machine);
  u32 words[3] = {5, 5, 7};
  const std::vector<Range> ranges{{words, 12}, {words, 4}, {words + 1, 4}, {words, 6}};
  const std::vector<u64> digests = digester.of(ranges);
  EXPECT_EQ(digests[0], digest_term(5, 0) + digest_term(5, 1) + digest_term(7, 2));
  EXPECT_EQ(digests[1], digests[2]);
  EXPECT_EQ(digests[3], digest_term(5, 0) + digest_term(5, 1));
  EXPECT_THROW(digester.of(std::vector<Range>{{words, 3}}), Error);
  EXPECT_THROW(digester.of(std::vector<Range>(9, {words, 4})), Error);
}

// What report's repeats of batch_invariant say of run_to_run.
TEST(Determinism, LevelsShareTheKernelsOfTheMatrix) {
  for (const DeviceFacts& card : known_cards())
    for (const Cell& cell : matrix_cells({})) {
      Problem p = cell.problem;
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        const auto config = [&](Determinism level) {
          p.determinism = level;
          return to_text(main_config(pass == Pass::forward ? plan_forward(p, card) : plan_backward(p, card)));
        };
        EXPECT_EQ(config(Determinism::run_to_run), config(Determinism::batch_invariant)) << card.name << ' ' << cell_text(p);
      }
    }
}

}  // namespace
}  // namespace speedlight::cli
