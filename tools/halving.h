// Successive halving: which of many kernels is the fastest, without timing the slow ones for long.
#pragma once
#include <functional>
#include <vector>

namespace speedlight::cli {

struct HalvingOptions {
  double budget_seconds = 20;  // by `clock`; the first round always ends, so that every candidate has a time
  int screened = 32;           // after the first round, at most so many go on
  int rounds = 3;              // a stage
  int finalists = 4;           // no stage leaves fewer
  int final_rounds = 9;        // of the finalists
  double hopeless = 1.25;      // a candidate that many times slower than the best goes at the end of any stage, the first round included
  int keep = -1;               // this candidate is timed to the end, as one more finalist where it is slow
};

struct Contender {
  int index = 0;              // of the candidate
  std::vector<double> times;  // one a round; the first only screens, and no longer counts when there are others
  bool final_round = false;   // lived to the end
  double median() const;
  double spread() const;  // (largest - smallest) / median

 private:
  std::vector<double> sorted() const;  // those that count
};

// Times candidates [0, count) in rounds, each of which visits all that are left in turn (A B C, A B C, ...), so that a clock that drifts
// favours none. `time` gives milliseconds; `stop` ends the work early. The contenders come back best first: finalists, then the others.
std::vector<Contender> halve(int count, const std::function<double(int)>& time, const std::function<double()>& clock,
                             const std::function<bool()>& stop, const HalvingOptions& options);

}  // namespace speedlight::cli
