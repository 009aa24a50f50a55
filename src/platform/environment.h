// Environment variables.
#pragma once
#include <optional>
#include <string>

namespace speedlight::platform {

// The variable's value; nothing when it is unset or empty.
std::optional<std::string> environment(const char* name);

}  // namespace speedlight::platform
