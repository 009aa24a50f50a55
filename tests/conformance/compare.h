// Whether two outputs of a group agree under its rule.
#pragma once
#include <string>
#include <vector>

#include "conformance/groups.h"

namespace speedlight::conformance {

struct Comparison {
  i64 values = 0, different = 0;  // results compared; those outside the rule
  i64 inexact = 0;                // those not equal bit for bit
  double worst = 0;               // ulps, or for mma the error in units of the bound
  std::string report;             // the first differences with their operands
};

Comparison compare(const Group& group, const std::vector<u8>& gpu, const std::vector<u8>& emulated);

}  // namespace speedlight::conformance
