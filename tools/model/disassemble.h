// nvdisasm (PyPI: nvidia-cuda-nvdisasm), run as a child process.
#pragma once
#include <optional>
#include <span>
#include <string>
#include "base/types.h"

namespace speedlight::model {

// SPEEDLIGHT_NVDISASM, else the one that tools/setup.sh unpacked, else the first in PATH.
std::optional<std::string> find_nvdisasm();

// The text of a cubin. Throws Error(no_compiler) where there is no nvdisasm, or where it fails.
std::string disassemble(std::span<const u8> cubin);

}  // namespace speedlight::model
