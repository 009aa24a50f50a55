// The kernels for every processor of the architecture.
#define SPEEDLIGHT_VARIANT baseline
#include "cpu/kernels_variant.h"
