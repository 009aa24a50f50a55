// Random problems, ugly on purpose.
#pragma once
#include "case.h"

namespace speedlight::cli {

// Case `index` of the sequence that `seed` starts; `work` bounds batch * heads * seqlen_q * seqlen_k * head_dim.
Case random_case(u64 seed, i64 index, double work);

}  // namespace speedlight::cli
