// The kernels for x86-64-v4; cpu.cmake sets the flags of this file.
#ifdef __x86_64__
#define SPEEDLIGHT_VARIANT v4
#include "cpu/kernels_variant.h"
#endif
