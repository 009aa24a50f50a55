// The kernels for x86-64-v3; cpu.cmake sets the flags of this file.
#ifdef __x86_64__
#define SPEEDLIGHT_VARIANT v3
#include "cpu/kernels_variant.h"
#endif
