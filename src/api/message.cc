// Messages for the caller: the thread's last error, names of statuses, the log callback.
#include <mutex>
#include <string>

#include "api/guard.h"
#include "platform/log.h"

namespace {

thread_local std::string message;
struct Sink {
  speedlight_log_callback callback;
  void* user;
};

// The two callback types differ in the name of the level, and calling one as the other would be undefined.
void pass_on(speedlight::LogLevel level, const char* text, void* sink) {
  const Sink& to = *static_cast<const Sink*>(sink);
  to.callback(static_cast<speedlight_log_level>(level), text, to.user);
}

thread_local const char* shown = "";  // message.c_str(), or a literal when there was no memory to keep the message

}  // namespace

namespace speedlight::api {

void clear_message() noexcept { shown = ""; }

speedlight_status fail(speedlight_status status, const char* text) noexcept {
  try {
    message = text;
    shown = message.c_str();
  } catch (...) {
    shown = "out of host memory";
  }
  return status;
}

}  // namespace speedlight::api

extern "C" {

const char* speedlight_last_error(void) { return shown; }

const char* speedlight_status_name(speedlight_status status) {
  switch (status) {
    case SPEEDLIGHT_OK: return "ok";
    case SPEEDLIGHT_INVALID_ARGUMENT: return "invalid_argument";
    case SPEEDLIGHT_UNSUPPORTED: return "unsupported";
    case SPEEDLIGHT_OUT_OF_MEMORY: return "out_of_memory";
    case SPEEDLIGHT_NO_DRIVER: return "no_driver";
    case SPEEDLIGHT_UNKNOWN_DEVICE: return "unknown_device";
    case SPEEDLIGHT_NOT_PREPARED: return "not_prepared";
    case SPEEDLIGHT_NO_COMPILER: return "no_compiler";
    case SPEEDLIGHT_COMPILE_FAILED: return "compile_failed";
    case SPEEDLIGHT_CUDA_ERROR: return "cuda_error";
    case SPEEDLIGHT_INTERNAL: return "internal";
  }
  return "unknown";
}

const char* speedlight_version(void) { return SPEEDLIGHT_VERSION; }

void speedlight_set_log_callback(speedlight_log_callback callback, void* user) {
  static std::mutex mutex;
  static Sink current;  // changed only while no sink is set, so no message reads it meanwhile
  try {
    const std::lock_guard lock(mutex);
    speedlight::set_log_sink(nullptr, nullptr);
    current = {callback, user};
    if (callback) speedlight::set_log_sink(pass_on, &current);
  } catch (...) {  // a mutex that cannot be locked: messages keep going where they went
  }
}
}

using speedlight::LogLevel;
using speedlight::Status;
static_assert(int(Status::ok) == SPEEDLIGHT_OK && int(Status::invalid_argument) == SPEEDLIGHT_INVALID_ARGUMENT);
static_assert(int(Status::unsupported) == SPEEDLIGHT_UNSUPPORTED && int(Status::out_of_memory) == SPEEDLIGHT_OUT_OF_MEMORY);
static_assert(int(Status::no_driver) == SPEEDLIGHT_NO_DRIVER && int(Status::unknown_device) == SPEEDLIGHT_UNKNOWN_DEVICE);
static_assert(int(Status::not_prepared) == SPEEDLIGHT_NOT_PREPARED && int(Status::no_compiler) == SPEEDLIGHT_NO_COMPILER);
static_assert(int(Status::compile_failed) == SPEEDLIGHT_COMPILE_FAILED && int(Status::cuda_error) == SPEEDLIGHT_CUDA_ERROR);
static_assert(int(Status::internal) == SPEEDLIGHT_INTERNAL);
static_assert(int(LogLevel::error) == SPEEDLIGHT_LOG_ERROR && int(LogLevel::info) == SPEEDLIGHT_LOG_INFO);
