// Lets the translation units that NVRTC gets (plan/kernel.h, kernel_source) compile as host code, and collects their entries.
#pragma once
#include "planned/run_plan.h"

#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
