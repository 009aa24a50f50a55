#include "plan/tables.h"
#include <string>
#include "problem/error.h"

namespace speedlight::plan {

const Tables& tables_for(int target) {
  if (target < 80)
    throw Error(Status::unknown_device, "compute capability " + std::to_string(target / 10) + "." + std::to_string(target % 10) +
                                            ": must be at least 8.0, the first with bf16 products and asynchronous copies");
  return target == 90 ? tables_sm90 : target == 120 ? tables_sm120 : tables_generic;
}

}  // namespace speedlight::plan
