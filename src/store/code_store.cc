#include "store/code_store.h"

#include "platform/environment.h"
#include "platform/log.h"
#include "problem/error.h"
#include "store/nvrtc.h"
#include "store/recipe.h"
#include "store/sources.h"

namespace speedlight {
namespace store {

std::shared_ptr<CodeStore::Slot> CodeStore::slot(const KernelConfig& config, int target) {
  const std::lock_guard lock(mutex_);
  auto& slot = slots_[{to_text(config), target}];
  if (!slot) slot = std::make_shared<Slot>();
  return slot;
}

std::shared_ptr<const Code> CodeStore::find(const KernelConfig& config, int target) {
  const auto place = slot(config, target);
  const std::lock_guard lock(place->mutex);
  if (place->code) return place->code;
  const Identity identity = identity_of(config, target);
  auto code = bundle_.find(identity);
  if (!code) code = cache_.load(identity);
  if (!code) {
    code = compile_missing(config, target);
    if (code->origin == "compiled") cache_.save(identity, *code);  // PTX is no answer for a process that has NVRTC
  }
  place->code = std::make_shared<const Code>(std::move(*code));
  return place->code;
}

std::shared_ptr<const Code> CodeStore::find_shipped(const KernelConfig& config, int target) {
  const auto place = slot(config, target);
  const std::lock_guard lock(place->mutex);
  if (!place->code)
    if (auto code = bundle_.find(identity_of(config, target))) place->code = std::make_shared<const Code>(std::move(*code));
  return place->code;
}

Code CodeStore::compile_missing(const KernelConfig& config, int target) {
  const std::string recipe = to_text(Recipe{config, target});
  const std::string jit = platform::environment("SPEEDLIGHT_JIT").value_or("on");
  if (jit != "on" && jit != "off") throw Error(Status::invalid_argument, "SPEEDLIGHT_JIT is '" + jit + "': must be on or off");
  if (jit == "off")
    throw Error(Status::no_compiler,
                "a kernel is neither shipped nor cached, and SPEEDLIGHT_JIT=off forbids to compile it, be it by NVRTC or, from PTX, by the "
                "driver. Its recipe:\n" +
                    recipe);
  try {
    Code code = compile(config, target);
    log(LogLevel::info, "compiled " + recipe + " in " + std::to_string(int(code.compile_ms)) + " ms");
    return code;
  } catch (const Error& error) {
    if (auto ptx = bundle_.find(identity_of(config, ptx_target))) {
      log(error.status() == Status::no_compiler ? LogLevel::info : LogLevel::warning,
          "the driver compiles " + to_text(Recipe{config, ptx_target}) + " for " + target_name(target) + ", since " + error.what());
      return std::move(*ptx);
    }
    if (error.status() != Status::no_compiler) throw;
    throw Error(Status::no_compiler,
                "a kernel is neither shipped nor cached, and cannot be compiled. Its recipe:\n" + recipe + "\n" + error.what());
  }
}

StoreFacts CodeStore::facts() const {
  StoreFacts facts;
  try {
    facts.nvrtc = Nvrtc::instance().name() + " (" + Nvrtc::instance().path() + ")";
  } catch (const Error& error) {
    facts.nvrtc = error.what();
  }
  const std::string problem = cache_.problem();
  facts.cache_usable = problem.empty();
  facts.cache_folder = cache_.folder() + (problem.empty() ? "" : " (not used: " + problem + ")");
  facts.shipped = bundle_.targets();
  facts.bundle_producer = bundle_.producer();
  facts.bundle_bytes = bundle_.bytes();
  facts.source_digest = DeviceSources::current().digest();
  return facts;
}

namespace {

CodeStore& process_store() {
  static CodeStore& store = *new CodeStore(embedded_bundle(), default_cache_folder());  // never destroyed: threads may still ask at exit
  return store;
}

}  // namespace
}  // namespace store

std::shared_ptr<const Code> find_code(const KernelConfig& config, int target) { return store::process_store().find(config, target); }
std::shared_ptr<const Code> find_shipped(const KernelConfig& config, int target) {
  return store::process_store().find_shipped(config, target);
}
StoreFacts store_facts() { return store::process_store().facts(); }

}  // namespace speedlight
