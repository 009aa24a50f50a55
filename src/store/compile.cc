// (config, target) -> code, by NVRTC; needs no GPU.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "problem/error.h"
#include "store/identity.h"
#include "store/nvrtc.h"
#include "store/ptxas_log.h"
#include "store/recipe.h"
#include "store/sources.h"
#include "store/store.h"

namespace speedlight {
namespace store {
namespace {

// The headers a kernel includes. With debug information and sources on disk, profilers and debuggers get the files' real names.
std::vector<SourceFile> headers_of(const DeviceSources& sources, const std::string& source) {
  const bool real_names = debug_wanted() && !sources.folder().empty();
  std::vector<SourceFile> headers;
  for (const SourceFile* file : sources.reached_from(source)) {
    headers.push_back(*file);
    if (real_names) headers.back().text = "#line 1 \"" + sources.folder() + "/" + file->path + "\"\n" + file->text;
  }
  return headers;
}

}  // namespace
}  // namespace store

Code compile(const KernelConfig& config, int target) {
  using namespace store;
  const Nvrtc& nvrtc = Nvrtc::instance();
  const std::string recipe = to_text(Recipe{config, target});
  if (!nvrtc.supports(std::abs(target)))
    throw Error(Status::no_compiler, nvrtc.name() + " (" + nvrtc.path() + ") cannot compile " + recipe + ": it does not know " +
                                         target_name(target) + (target == 120 ? "; NVRTC 12.8 and newer do" : ""));
  const std::string source = kernel_source(config);
  const std::vector<SourceFile> headers = headers_of(DeviceSources::current(), source);
  const auto start = std::chrono::steady_clock::now();
  Nvrtc::Output output = nvrtc.compile(kernel_symbol(config) + ".cu", source, headers, compile_options(target));
  if (!output.compiled) throw Error(Status::compile_failed, nvrtc.name() + " rejected " + recipe + ": " + output.log);

  const PtxasFacts facts = parse_ptxas_log(output.log);
  Code code;
  code.cubin = std::move(output.code);
  code.registers = facts.registers;
  code.spill_bytes = std::max(facts.spill_stores, facts.spill_loads);
  code.static_shared = facts.static_shared;
  code.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  code.producer = nvrtc.name();
  code.origin = "compiled";
  return code;
}

}  // namespace speedlight
