// What the sources with switches call (sites.py puts the calls in): a program holds all mutants, and each run chooses one. Included first.
#pragma once
#include "base/types.h"

namespace speedlight::mutants {

extern const int chosen;  // 0: no mutant; -1: none, but sites report that they are reached
bool reached(int id);     // false

// True in the run of mutant `id`. What the compiler computes is never mutated.
constexpr bool on(int id) { return !__builtin_is_constant_evaluated() && (chosen == id || (chosen < 0 && reached(id))); }
// Mutants first and first + 1: one more, one less.
constexpr int step(int first) { return on(first) ? 1 : on(first + 1) ? -1 : 0; }
// An argument, one more or less.
template <class T>
constexpr T nudged(int first, T value) {
  return value + T(step(first));
}
// The right side of a comparison: one more, one less, above and below everything.
constexpr i64 margin(int first) { return on(first + 2) ? i64(1) << 40 : on(first + 3) ? -(i64(1) << 40) : step(first); }

// A wait that does not acquire.
void wait_relaxed_32(const u32* p, u32 value);

}  // namespace speedlight::mutants
