// speedlight info: version, device, driver, compiler, cache, and what is shipped.
#include <fmt/format.h>
#include <algorithm>
#include "cli.h"
#include "gpu/device.h"
#include "parts.h"
#include "problem/error.h"
#include "store/recipe.h"
#include "store/tuned_file.h"

namespace speedlight::cli {
namespace {

Json card_json(const DeviceFacts& card) {
  return {{"name", card.name},
          {"capability", card.capability},
          {"target", card.target},
          {"sms", card.sms},
          {"shared_block_bytes", card.shared_block},
          {"shared_sm_bytes", card.shared_sm},
          {"threads_sm", card.threads_sm},
          {"mma_tflops", card.mma_tflops},
          {"memory_tbs", card.memory_tbs}};
}

std::string code_text(const DeviceFacts& card, const StoreFacts& store) {
  const auto ships = [&](int target) { return std::ranges::count(store.shipped, target, &std::pair<int, int>::first) > 0; };
  std::string text = target_name(card.target);
  if (ships(card.target)) return text;
  text += ", which does not ship: made by NVRTC";
  return ships(ptx_target) ? text + ", without it by the driver from PTX" : text;
}

}  // namespace

Part info_part() {
  const gpu::DriverFacts driver = gpu::driver_facts();
  const StoreFacts store = store_facts();
  Json json = {
      {"version", SPEEDLIGHT_VERSION},
      {"driver", {{"present", driver.present}, {"message", driver.message}, {"version", driver.version}, {"devices", driver.devices}}},
      {"driver_floor", {{"sm_120", "570 (CUDA 12.8)"}, {"ptx", "570 (CUDA 12.8)"}, {"others", "525 (CUDA 12.0)"}}},
      {"nvrtc", store.nvrtc},
      {"tuned", {{"file", tuned_path()}, {"rows", tuned_table() ? tuned_table()->rows.size() : 0}}},
      {"cache", {{"folder", store.cache_folder}, {"usable", store.cache_usable}}},
      {"bundle", {{"producer", store.bundle_producer}, {"bytes", store.bundle_bytes}, {"source_digest", store.source_digest}}}};
  std::string text = fmt::format(
      "Speedlight {}\ndriver   {}\n         floor: 570 (CUDA 12.8) for sm_120 and for PTX, 525 (CUDA 12.0) for others\nNVRTC    {}\ncache  "
      "  {}{}\n",
      SPEEDLIGHT_VERSION, driver.message, store.nvrtc, store.cache_folder, store.cache_usable ? "" : " (not usable)");
  text += fmt::format("bundle   {} bytes by {}\n", store.bundle_bytes, store.bundle_producer);
  for (auto [shipped, count] : store.shipped) {
    json["bundle"]["entries"][target_name(shipped)] = count;
    text += fmt::format("         {}: {} kernels{}\n", target_name(shipped), count,
                        is_ptx(shipped) ? " (PTX, for other GPUs without NVRTC: the driver compiles it)" : "");
  }
  json["devices"] = Json::array();
  for (int i = 0; i < driver.devices; ++i) {
    const DeviceFacts facts = gpu::device_facts(i);
    json["devices"].push_back(card_json(facts));
    text += fmt::format("device {} {} capability {}.{} (code for {}), {} SMs, {} KiB shared a block\n", i, facts.name,
                        facts.capability / 10, facts.capability % 10, code_text(facts, store), facts.sms, facts.shared_block / 1024);
  }
  if (driver.devices == 0) text += "device   none: calls run on the CPU\n";
  text += fmt::format("tuned    {}", json["tuned"]["rows"].get<size_t>()
                                         ? fmt::format("{} rows in {}", json["tuned"]["rows"].get<size_t>(), tuned_path())
                                     : tuned_path().empty() ? "off"
                                                            : "no rows in " + tuned_path());
  return {json, text, true};
}

Run add_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "version, devices, driver, NVRTC, cache, shipped kernels");
  auto target = std::make_shared<Target>();
  add_target_options(*command, *target);
  return [target] {
    const Part part = info_part();
    print(*target, part.json, part.text);
    return 0;
  };
}

}  // namespace speedlight::cli
