// What ptxas -v says about a kernel.
#pragma once
#include <string_view>
#include "base/types.h"

namespace speedlight::store {

struct PtxasFacts {
  int registers = 0;                      // a thread
  int spill_stores = 0, spill_loads = 0;  // bytes a thread
  i64 static_shared = 0;                  // bytes a block
};

// Reads "Used 255 registers, ..., 1024 bytes smem" and "8 bytes spill stores, 4 bytes spill loads"; what is absent stays 0.
PtxasFacts parse_ptxas_log(std::string_view log);

}  // namespace speedlight::store
