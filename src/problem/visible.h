// Counts over the mask band, in closed form: what planning needs to know of a mask.
#pragma once
#include "attention/band.h"

namespace speedlight {

// Query-key pairs that may see each other: the sum of the sizes of all rows' bands. Lengths below 2^30.
i64 visible_pairs(i64 seqlen_q, i64 seqlen_k, Window window);

// True when every row may see every key, so that no mask is needed whatever the window says.
bool sees_everything(i64 seqlen_q, i64 seqlen_k, Window window);

}  // namespace speedlight
