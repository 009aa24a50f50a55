// Epilogues take where they store as an argument, so that none can be switched on without it: with WITHOUT_DESTINATION this must not compile.
#include "attention/output.h"
#include "kernels/backward_gradient.h"

namespace speedlight {

constexpr BackwardConfig config{{.head_dim = 64, .value_dim = 64}, {.rows = 32, .dq_warps_m = 2, .dq_warps_n = 2}};

void store(const kernels::BackwardContext<config>& context, const tile::Accumulator<2, 8>& gradient, const tile::Accumulator<2, 8>& output,
           [[maybe_unused]] const StridedTensor& to, [[maybe_unused]] const OutputRows& rows) {
#ifdef WITHOUT_DESTINATION
  kernels::store_gradient(context, gradient, 1.0f, 0);
  store_rows<DType::bf16>(0, output, 0);
#else
  kernels::store_gradient(context, gradient, 1.0f, 0, to, false);
  store_rows<DType::bf16>(rows, 0, output, 0);
#endif
}

}  // namespace speedlight
