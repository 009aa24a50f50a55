// Runs a case on a machine, forward and backward, and compares everything with float64.
#pragma once
#include "case.h"
#include "cpu/compare.h"
#include "machine.h"

namespace speedlight::cli {

struct CaseResult {
  bool pass = false;
  std::string fault;  // an error or damaged memory; empty otherwise
  std::vector<reference::TensorCheck> tensors;
  std::string text() const;  // a line a tensor
};

// Never throws: an Error is a fault of the case.
CaseResult check_case(Machine& machine, const Case& c);

}  // namespace speedlight::cli
