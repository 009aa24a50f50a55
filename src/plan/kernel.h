// Every kernel configuration, its one canonical text, and what can be read off it.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include "config/backward_config.h"
#include "config/ceiling_config.h"
#include "config/digest_config.h"
#include "config/forward_config.h"

namespace speedlight {

using KernelConfig = std::variant<ForwardConfig, PreprocessConfig, BackwardConfig, PostprocessConfig, PackConfig, ReferenceConfig,
                                  CeilingConfig, DigestConfig>;

// The canonical text, e.g. "fwd.bf16.d128.band.m256n64w8.s16x3.bulk.redo.b1": cache key, log line, bundle recipe, benchmark row, test name.
std::string to_text(const KernelConfig& config);
// The inverse; throws Error(invalid_argument) that shows the offending part. parse(to_text(c)) == c for every config.
KernelConfig parse_config(std::string_view text);

// extern "C" name of the kernel: the text with every character outside [A-Za-z0-9] replaced by '_', after "speedlight_".
std::string kernel_symbol(const KernelConfig& config);
// A translation unit for NVRTC: one include, the config as a constexpr, the extern "C" entry with its launch bounds.
std::string kernel_source(const KernelConfig& config);
// The designated initialiser of the config's tuning, as a row of the tables has it; empty for a config without one.
std::string tuning_source(const KernelConfig& config);

i32 threads(const KernelConfig& config);
i64 shared_bytes(const KernelConfig& config);  // dynamic shared memory a block, from the kernel's shared struct
// True when the config uses only instructions that the target (80, 86, 90, 120) has, and fits its shared memory.
bool runs_on(const KernelConfig& config, int target);

}  // namespace speedlight
