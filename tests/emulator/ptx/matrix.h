// Host twin of src/device/ptx/matrix.h.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void ldmatrix_x4(u32 (&r)[4], SharedAddress row) { emulator::ldmatrix(r, row, false); }
inline void ldmatrix_x4_transposed(u32 (&r)[4], SharedAddress row) { emulator::ldmatrix(r, row, true); }
inline void stmatrix_x4(SharedAddress row, const u32 (&r)[4]) { emulator::stmatrix(row, r); }

}  // namespace speedlight::ptx
