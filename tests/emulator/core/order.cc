#include "core/order.h"

namespace speedlight::emulator {
namespace {

[[gnu::target_clones("default,avx2")]] void join_into(u32* a, const u32* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = a[i] < b[i] ? b[i] : a[i];
}

}  // namespace

void Clock::reset(i32 components) {
  seen.assign(components, 0);
  fenced.assign(components, 0);
}

void Clock::join(const Clock& other) {
  join_into(seen.data(), other.seen.data(), seen.size());
  join_into(fenced.data(), other.fenced.data(), fenced.size());
}

}  // namespace speedlight::emulator
