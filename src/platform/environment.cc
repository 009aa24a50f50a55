#include "platform/environment.h"

#include <cstdlib>

namespace speedlight::platform {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace speedlight::platform
