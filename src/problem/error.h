// The one exception that the library throws inside; the C ABI turns it into a status and a thread-local message.
#pragma once
#include <stdexcept>
#include <string>

namespace speedlight {

// Mirrors speedlight_status in include/speedlight/speedlight.h, value for value (a static_assert in src/api checks it).
enum class Status : int {
  ok = 0,
  invalid_argument = 1,  // the caller's problem, pointer or flag is wrong; the message names the argument, its value and what is allowed
  unsupported = 2,       // a valid request that this version does not do
  out_of_memory = 3,
  no_driver = 4,       // no CUDA driver, or one too old
  unknown_device = 5,  // no such card, or no code for its architecture
  not_prepared = 6,    // a cold launch under stream capture
  no_compiler = 7,     // the kernel is not shipped and NVRTC is missing or turned off
  compile_failed = 8,
  cuda_error = 9,  // the driver reported an error; the message says which call, and whether it was already pending
  internal = 10,
};

class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

}  // namespace speedlight
