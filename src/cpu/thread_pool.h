// Threads for the CPU backend. Ours, not OpenMP's: the pool survives fork(), and several callers may use it at once.
#pragma once
#include <functional>

#include "base/types.h"

namespace speedlight::cpu {

// Most threads that one parallel_for uses, the caller's own included. By default the processors this process may run on.
int thread_count();
// 0 restores the default. Results do not depend on it. Not while a parallel_for runs.
void set_thread_count(int count);

// Calls body(item, slot) once for each item in [0, count), in rising order of start, and returns when all are done. `slot` is in
// [0, thread_count()); no two calls that run at the same time have the same slot, so it may index scratch memory.
// The first exception stops the handing out of items and is thrown again here. May be nested and called from any thread.
void parallel_for(i64 count, const std::function<void(i64 item, int slot)>& body);

}  // namespace speedlight::cpu
