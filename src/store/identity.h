// What an entry is: two lookups with the same identity may share code, and only they.
#pragma once
#include <string>
#include <vector>
#include "plan/kernel.h"
#include "store/digest.h"

namespace speedlight::store {

struct Identity {
  std::string text;  // schema, config, target, digest of the entry source and of the device sources it includes, NVRTC options; a line each
  Digest hash{};     // of the text: the name of a cache file, the key of a bundle
};

Identity identity_of(const KernelConfig& config, int target);

// NVRTC's options for a target; SPEEDLIGHT_DEBUG=lineinfo|full adds debug information (anything else is Error(invalid_argument)).
std::vector<std::string> compile_options(int target);
bool debug_wanted();

}  // namespace speedlight::store
