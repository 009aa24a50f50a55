// The shared list of adversarial shapes, and a run of one of them on the emulator against float64.
#pragma once
#include <string>
#include <vector>

#include "cpu/compare.h"
#include "plan/plan.h"
#include "planned/modes.h"
#include "tools/case.h"

namespace speedlight::emulator {

struct PlannedCase {
  std::string name;  // of the shape
  cli::Case data;
  Plan plan;
  u32 grid() const;  // of its largest launch
};

// The shapes of the list that launch `config`, a forward or backward kernel, on a card that has its instructions.
std::vector<PlannedCase> cases_of(const KernelConfig& config);

// Runs a case again and again; float64 is computed once.
class CaseRunner {
 public:
  explicit CaseRunner(const PlannedCase& planned);
  // What went wrong: a fault's report, or the comparison with float64; empty when nothing did. Where no adds meet in an order of their own, runs
  // must also agree bit for bit.
  std::string run(const Config& modes);

 private:
  void reset();  // memory as before the call; backward gets the forward's results from the reference: it alone is under test

  const PlannedCase& planned_;
  cli::Arena arena_;
  std::vector<u8> storage_;
  u8* memory_;  // in storage_, at the alignment that the arena's pointers assume
  Pointers pointers_;
  reference::Values exact_, plain_;
  bool same_bits_;
  std::vector<u8> first_;  // what the first run left
};

}  // namespace speedlight::emulator
