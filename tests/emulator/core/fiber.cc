#include "core/fiber.h"

#include <sys/mman.h>

#include <stdexcept>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace speedlight::emulator {
namespace {

using boost::context::detail::transfer_t;

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t stack_bytes = 1 << 20;  // the sanitizer's frames are large
#else
constexpr std::size_t stack_bytes = 1 << 18;
#endif
constexpr std::size_t guard_bytes = 4096;

// Reserved, not committed: the system gives a page at its first touch.
char* pooled_stack(int number) {
  static std::vector<char*> stacks;
  while (int(stacks.size()) <= number) {
    void* p = mmap(nullptr, stack_bytes + guard_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, guard_bytes, PROT_NONE) != 0) throw std::runtime_error("emulator: no memory for a fiber's stack");
    stacks.push_back(static_cast<char*>(p) + guard_bytes);
  }
  return stacks[number];
}

// The fiber that was left by the last switch; the arriving side stores its context.
void arrived(transfer_t transfer, [[maybe_unused]] Fiber* self) {
  auto* left = static_cast<Fiber*>(transfer.data);
  left->context = transfer.fctx;
#ifdef __SANITIZE_ADDRESS__
  const void* bottom;
  std::size_t bytes;
  __sanitizer_finish_switch_fiber(self ? self->fake_stack : nullptr, &bottom, &bytes);
  left->stack_bottom = bottom;
  left->stack_bytes = bytes;
#endif
}

}  // namespace

void fiber_prepare(Fiber& fiber, int stack_number, void (*entry)(transfer_t)) {
  char* bottom = pooled_stack(stack_number);
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(bottom, stack_bytes);  // what a dropped fiber left
#endif
  fiber = {boost::context::detail::make_fcontext(bottom + stack_bytes, stack_bytes, entry), nullptr, bottom, stack_bytes};
}

void fiber_started(transfer_t transfer) { arrived(transfer, nullptr); }

void fiber_switch(Fiber& from, Fiber& to) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
  arrived(boost::context::detail::jump_fcontext(to.context, &from), &from);
}

}  // namespace speedlight::emulator
