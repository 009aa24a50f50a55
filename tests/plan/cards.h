// The cards that most tests plan for.
#pragma once
#include "plan/facts.h"

namespace speedlight {

inline const DeviceFacts h200 = *find_card("h200"), rtx5090 = *find_card("rtx5090");

}  // namespace speedlight
