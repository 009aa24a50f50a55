// Fibers: one a GPU thread, over Boost.Context, with the address sanitizer told of every switch. Stacks are pooled and have a guard page.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace speedlight::emulator {

// A place that execution can leave and come back to. A fiber that is never resumed again is simply dropped: kernel code owns nothing.
struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  void* fake_stack = nullptr;  // the sanitizer's
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
};

// Makes `fiber` start at `entry`, on the pooled stack with this number. `entry` must call fiber_started() first and never return.
void fiber_prepare(Fiber& fiber, int stack_number, void (*entry)(boost::context::detail::transfer_t));
void fiber_started(boost::context::detail::transfer_t transfer);
// Leaves `from` and continues `to`; returns when something switches to `from` again.
void fiber_switch(Fiber& from, Fiber& to);

}  // namespace speedlight::emulator
