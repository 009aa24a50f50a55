// The one thing of a plan that is not plain data: where src/gpu finds again what it loaded for the plan, without a lock.
#pragma once
#include <array>
#include <atomic>

namespace speedlight {

// One entry a device. A copy starts empty, since the copy may be changed; a plan that was prepared must not be.
class PreparedSlots {
 public:
  PreparedSlots() = default;
  PreparedSlots(const PreparedSlots&) {}
  PreparedSlots& operator=(const PreparedSlots& other) {
    if (this != &other)
      for (auto& entry : entries_) entry.store(nullptr, std::memory_order_relaxed);
    return *this;
  }
  // What set() left for the device: lives as long as the process. Null when there is none, and for devices past the last entry.
  const void* get(int ordinal) const { return has(ordinal) ? entries_[std::size_t(ordinal)].load(std::memory_order_acquire) : nullptr; }
  void set(int ordinal, const void* prepared) const {
    if (has(ordinal)) entries_[std::size_t(ordinal)].store(prepared, std::memory_order_release);
  }

 private:
  static constexpr int devices = 16;
  static bool has(int ordinal) { return ordinal >= 0 && ordinal < devices; }
  mutable std::array<std::atomic<const void*>, devices> entries_{};
};

}  // namespace speedlight
