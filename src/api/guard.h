// What stands around every entry of the C ABI: nothing is thrown out of the library, and the thread's last message is kept.
#pragma once
#include <exception>
#include <new>

#include "problem/error.h"
#include "speedlight/speedlight.h"

namespace speedlight::api {

void clear_message() noexcept;
speedlight_status fail(speedlight_status status, const char* message) noexcept;  // keeps the message, returns the status

template <class Call>
speedlight_status guarded(Call&& call) noexcept {
  try {
    call();
    clear_message();
    return SPEEDLIGHT_OK;
  } catch (const Error& error) {
    return fail(static_cast<speedlight_status>(error.status()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(SPEEDLIGHT_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return fail(SPEEDLIGHT_INTERNAL, error.what());
  } catch (...) {
    return fail(SPEEDLIGHT_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace speedlight::api
