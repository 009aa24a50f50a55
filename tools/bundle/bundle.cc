// speedlight_bundle <output> <cache folder> <target>...: compiles what ships for the targets and writes them as one bundle. Entries
// that the cache folder holds already are taken from there, and what the bundle does not need is removed from it.
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "platform/files.h"
#include "platform/log.h"
#include "store/bundle.h"
#include "store/disk_cache.h"
#include "store/nvrtc.h"
#include "store/recipe.h"
#include "store/sources.h"

namespace speedlight::store {

std::span<const u8> embedded_bundle() { return {}; }  // the tool that makes the bundle holds none

namespace {

std::vector<BundleItem> shipped_items(std::span<const std::string> targets) {
  std::vector<BundleItem> items;
  for (const std::string& name : targets) {
    const int target = parse_target(name);
    for (const KernelConfig& config : bundled_configs(target)) items.push_back({{config, target}, identity_of(config, target), {}});
  }
  return items;
}

// Loads what the cache holds of this compiler; compiles and saves the rest. Throws the first error after all have been tried.
void fill(std::vector<BundleItem>& items, DiskCache& cache) {
  const std::string producer = Nvrtc::instance().name();
  std::vector<std::size_t> missing;
  std::vector<Recipe> recipes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto code = cache.load(items[i].identity);
    if (code && code->producer == producer) {
      items[i].code = std::move(*code);
    } else {
      missing.push_back(i);
      recipes.push_back(items[i].recipe);
    }
  }
  std::size_t count = 0;
  std::exception_ptr failure;
  compile_parallel(recipes, 0, [&](CompileResult&& result) {
    BundleItem& item = items[missing[result.index]];
    std::printf("[%zu/%zu] %s", ++count, recipes.size(), to_text(item.recipe).c_str());
    if (result.error) {
      std::printf(": failed\n");
      if (!failure) failure = result.error;
    } else {
      std::printf(": %d registers, %d bytes spilled, %.0f ms\n", result.code.registers, result.code.spill_bytes, result.code.compile_ms);
      item.code = std::move(result.code);
      cache.save(item.identity, item.code);
    }
    std::fflush(stdout);
  });
  if (failure) std::rethrow_exception(failure);
  std::printf("%zu kernels, %zu of them compiled now\n", items.size(), recipes.size());
}

void remove_unused(const std::string& folder, std::span<const BundleItem> items) {
  std::set<std::string> used;
  for (const BundleItem& item : items) used.insert(to_hex(item.identity.hash));
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (!used.contains(file.path().filename().string())) std::filesystem::remove(file.path(), error);
}

int run(const std::string& output, const std::string& cache_folder, std::span<const std::string> targets) {
  set_log_sink([](LogLevel, const char* message, void*) { std::fprintf(stderr, "speedlight_bundle: %s\n", message); }, nullptr);
  std::vector<BundleItem> items = shipped_items(targets);
  DiskCache cache(cache_folder);
  fill(items, cache);
  remove_unused(cache_folder, items);
  const std::size_t count = items.size();
  const std::vector<u8> bytes = write_bundle(std::move(items), DeviceSources::current().digest(), Nvrtc::instance().name());
  if (const std::string why = platform::write_file_atomically(output, bytes); !why.empty()) throw Error(Status::internal, why);
  using std::filesystem::perms;
  std::filesystem::permissions(output, perms::owner_write | perms::owner_read | perms::group_read | perms::others_read);
  std::printf("%s: %zu kernels, %zu bytes\n", output.c_str(), count, bytes.size());
  return 0;
}

}  // namespace
}  // namespace speedlight::store

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() < 3) {
    std::fprintf(stderr, "usage: speedlight_bundle <output> <cache folder> <target>...\n");
    return 2;
  }
  try {
    return speedlight::store::run(words[0], words[1], std::span(words).subspan(2));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "speedlight_bundle: %s\n", error.what());
    return 1;
  }
}
