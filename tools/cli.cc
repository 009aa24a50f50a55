#include "cli.h"
#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>
#include "gpu/device.h"
#include "problem/error.h"

namespace speedlight::cli {

void add_target_options(CLI::App& command, Target& target) {
  if (const char* card = std::getenv("SPEEDLIGHT_CARD")) target.card = card;
  command.add_option("--device", target.device, "auto, cpu or cuda")->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command.add_option("--ordinal", target.ordinal, "which GPU");
  command.add_option("--card", target.card, "plan for this card (rtx5090, ...); on another GPU its twin runs");
  command.add_flag("--json", target.json, "print JSON");
}

bool use_cuda(const Target& target) {
  if (target.device == "cpu") return false;
  const gpu::DriverFacts driver = gpu::driver_facts();
  if (driver.present && driver.devices > 0) return true;
  if (target.device == "cuda") throw Error(Status::no_driver, "--device cuda: " + driver.message);
  return false;
}

DeviceFacts card_facts(const Target& target) {
  if (target.card.empty()) return gpu::device_facts(target.ordinal);
  if (auto card = find_card(target.card)) return *card;
  std::string names;
  for (const DeviceFacts& card : known_cards()) names += " " + card.name;
  throw Error(Status::unknown_device, fmt::format("--card {}: known cards are{}", target.card, names));
}

void print(const Target& target, const Json& json, const std::string& text) {
  fmt::print("{}\n", target.json ? json.dump(2) : text);
  std::fflush(stdout);
}

Progress::Progress(std::string what, i64 total) : what_(std::move(what)), total_(total), shown_(isatty(2)) {}
Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}
void Progress::step(i64 done) {
  if (!shown_ || total_ <= 0) return;
  const int filled = int(30 * done / total_);
  fmt::print(stderr, "\r{} [{:<30}] {}/{}\033[K", what_, std::string(size_t(filled), '#'), done, total_);
}

}  // namespace speedlight::cli
