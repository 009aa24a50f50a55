#include "platform/log.h"

#include <cstdio>
#include <mutex>

namespace speedlight {
namespace {

struct Sink {
  std::recursive_mutex mutex;  // a sink may call back into the library
  LogSink function = nullptr;
  void* user = nullptr;
};

Sink& sink() {
  static Sink& instance = *new Sink;  // never destroyed: other static objects may log while they go
  return instance;
}

}  // namespace

void set_log_sink(LogSink function, void* user) {
  const std::lock_guard lock(sink().mutex);
  sink().function = function;
  sink().user = user;
}

void log(LogLevel level, const std::string& message) noexcept {
  try {
    const std::lock_guard lock(sink().mutex);
    if (sink().function) {
      sink().function(level, message.c_str(), sink().user);
    } else if (level == LogLevel::error) {
      std::fprintf(stderr, "speedlight: %s\n", message.c_str());
    }
  } catch (...) {  // a message is never worth a failed call
  }
}

}  // namespace speedlight
