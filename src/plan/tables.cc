#include "plan/tables.h"
#include <string>
#include "problem/error.h"

namespace speedlight::plan {

const Tables& tables_for(int target) {
  if (target < 80)
    throw Error(Status::unknown_device, "compute capability " + std::to_string(target / 10) + "." + std::to_string(target % 10) +
                                            ": must be at least 8.0, the first with bf16 products and asynchronous copies");
  if (target < 90) return tables_generic;
  return target == 90 ? tables_sm90 : tables_sm120;  // beyond 9.0 the smaller tiles fit every card so far
}

}  // namespace speedlight::plan
