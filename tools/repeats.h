// Are results the same bits, every time, under load, and whatever else is in the batch? By digests, on dense contiguous problems.
#pragma once
#include "digest.h"
#include "load.h"
#include "measure.h"

namespace speedlight::cli {

struct Repeats {
  int count = 0, different = 0;  // runs under load, and how many of them differ from a run without
  double alone_ms = 0, loaded_ms = 0;
};

struct BatchChange {
  int compared = 0;                 // results of a sequence in another batch; 0 where there is one sequence only
  std::vector<std::string> faults;  // which of them differ
};

class Repeater {
 public:
  using Enqueue = std::function<void()>;
  using Run = std::function<void(const Problem&, Pass, const Pointers&)>;
  explicit Repeater(Machine& machine) : machine_(machine), digester_(machine), load_(machine) {}

  // `enqueue` runs the pass. Before each time its results are poisoned, and the workspace gets other contents.
  Repeats repeat(const Problem& problem, Pass pass, const Pointers& at, const Enqueue& enqueue, int count);
  // The first and the last sequence of data's set 0 alone, in pairs, and elsewhere in a batch of set 1, which is overwritten there.
  // `run` runs a pass and waits; `workspace` serves all of these.
  BatchChange change_batch(const Problem& problem, Pass pass, const Data& data, void* workspace, i64 workspace_bytes, const Run& run);

 private:
  using Digests = std::vector<u64>;
  Digests digests_of(const Problem& problem, Pass pass, const Pointers& at, i64 sequence);
  Machine& machine_;
  Digester digester_;
  Load load_;
};

}  // namespace speedlight::cli
