#include "store/identity.h"

#include "platform/environment.h"
#include "problem/error.h"
#include "store/recipe.h"
#include "store/sources.h"

namespace speedlight::store {
namespace {

// Raised whenever the same lines come to mean something else.
constexpr const char* schema = "speedlight 1";

std::string debug_level() {
  std::string level = platform::environment("SPEEDLIGHT_DEBUG").value_or("");
  if (!level.empty() && level != "lineinfo" && level != "full")
    throw Error(Status::invalid_argument, "SPEEDLIGHT_DEBUG is '" + level + "': must be lineinfo, full or unset");
  return level;
}

}  // namespace

bool debug_wanted() { return !debug_level().empty(); }

std::vector<std::string> compile_options(int target) {
  std::vector<std::string> options{"--gpu-architecture=" + target_name(target), "--std=c++20", "-default-device"};
  if (!is_ptx(target)) options.push_back("--ptxas-options=-v");
  const std::string level = debug_level();
  if (level == "lineinfo") options.push_back("--generate-line-info");
  if (level == "full") options.push_back("--device-debug");
  return options;
}

Identity identity_of(const KernelConfig& config, int target) {
  const DeviceSources& sources = DeviceSources::current();
  const std::string entry = kernel_source(config);
  Identity identity;
  std::string& text = identity.text;
  text = std::string(schema) + "\nconfig " + to_text(config) + "\ntarget " + target_name(target) + "\nentry " + to_hex(sha256(entry)) +
         "\nsources " + digest_of(sources.reached_from(entry)) + "\noptions";
  for (const std::string& option : compile_options(target)) text += ' ' + option;
  if (debug_wanted()) text += "\nfolder " + sources.folder();  // debug information names files
  text += '\n';
  identity.hash = sha256(text);
  return identity;
}

}  // namespace speedlight::store
