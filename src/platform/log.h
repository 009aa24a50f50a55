// Where the library's few messages go. It never prints by itself: without a sink warnings are dropped and only errors reach stderr.
#pragma once
#include <string>

namespace speedlight {

enum class LogLevel : int { error = 1, warning = 2, info = 3 };  // mirrors speedlight_log_level
using LogSink = void (*)(LogLevel level, const char* message, void* user);

// Thread-safe; a null sink restores the default. A sink may be called from any thread, one call at a time.
void set_log_sink(LogSink sink, void* user);
void log(LogLevel level, const std::string& message) noexcept;

}  // namespace speedlight
