#include "core/order.h"

namespace speedlight::emulator {
namespace {

[[gnu::target_clones("default,avx2")]] void join_into(u32* a, const u32* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = a[i] < b[i] ? b[i] : a[i];
}

}  // namespace

void Others::join(const Others& other) {
  for (const auto& [block, seen] : other.blocks) {
    auto& mine = blocks[block];
    if (!mine || mine == seen) {
      mine = seen;
      continue;
    }
    auto both = std::make_shared<std::vector<u32>>(*mine);
    join_into(both->data(), seen->data(), both->size());
    mine = std::move(both);
  }
}
void Others::add(u32 block, const std::vector<u32>& seen) { join({{{block, std::make_shared<const std::vector<u32>>(seen)}}}); }
bool Others::have_seen(u32 block, u32 thread, u32 time) const {
  const auto found = blocks.find(block);
  return found != blocks.end() && (*found->second)[thread] >= time;
}

void Clock::join_others(const std::shared_ptr<const Others>& other) {
  if (!other || other == others) return;
  if (!others) {
    others = other;
    return;
  }
  auto both = std::make_shared<Others>(*others);
  both->join(*other);
  others = std::move(both);
}

void Clock::reset(i32 components) {
  others.reset();
  seen.assign(components, 0);
  fenced.assign(components, 0);
}

void Clock::join(const Clock& other) {
  join_into(seen.data(), other.seen.data(), seen.size());
  join_into(fenced.data(), other.fenced.data(), fenced.size());
  join_others(other.others);
}

}  // namespace speedlight::emulator
