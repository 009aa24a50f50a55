#include "plan/facts.h"
#include <algorithm>
#include <array>

namespace speedlight {
namespace {

constexpr i64 kib = 1024;

}  // namespace

std::span<const DeviceFacts> known_cards() {
  // Rates: measured on the H200; the others from the vendor's public figures (dense bf16 with fp32 accumulation, at boost clock). The
  // GB10's tensor rate is counted from its clock at 512 FLOP a clock and SM, like the RTX 50 series.
  static const std::array<DeviceFacts, 8> cards{{
      {"rtx5090", 120, 120, 170, 99 * kib, 100 * kib, kib, 65536, 1536, 24, 209.5, 1.79},
      {"rtxpro6000", 120, 120, 188, 99 * kib, 100 * kib, kib, 65536, 1536, 24, 503.8, 1.79},
      {"gb10", 121, 120, 48, 99 * kib, 100 * kib, kib, 65536, 1536, 24, 62.0, 0.273},
      {"h200", 90, 90, 132, 227 * kib, 228 * kib, kib, 65536, 2048, 32, 645.0, 4.3},
      {"h100", 90, 90, 132, 227 * kib, 228 * kib, kib, 65536, 2048, 32, 645.0, 3.35},
      {"a100", 80, 80, 108, 163 * kib, 164 * kib, kib, 65536, 2048, 32, 312.0, 1.94},
      {"rtx3090", 86, 86, 82, 99 * kib, 100 * kib, kib, 65536, 1536, 16, 71.2, 0.936},
      {"rtx4090", 89, 86, 128, 99 * kib, 100 * kib, kib, 65536, 1536, 24, 165.2, 1.008},
  }};
  return cards;
}

std::optional<DeviceFacts> find_card(std::string_view name) {
  const auto cards = known_cards();
  const auto found = std::ranges::find(cards, name, &DeviceFacts::name);
  if (found == cards.end()) return std::nullopt;
  return *found;
}

int target_for(int capability) {
  int best = capability;
  bool found = false;
  for (const int target : {80, 86, 90, 120})
    if (target / 10 == capability / 10 && target <= capability) {
      best = target;
      found = true;
    }
  return found ? best : capability;
}

int blocks_per_sm(const DeviceFacts& card, int threads, int registers, i64 dynamic_shared) {
  // Registers are handed out to warps, 256 at a time; each of the SM's four quarters holds a quarter of them and whole warps only.
  constexpr int warp = 32, granule = 256, quarters = 4;
  const int warps = ceil_div(threads, warp);
  const int warp_registers = round_up(registers * warp, granule);
  int blocks = card.blocks_sm;
  if (card.threads_sm > 0) blocks = std::min(blocks, card.threads_sm / (warps * warp));
  if (warp_registers > 0) blocks = std::min(blocks, card.registers_sm / quarters / warp_registers * quarters / warps);
  if (dynamic_shared > card.shared_block) return 0;
  const i64 shared = round_up<i64>(dynamic_shared, 128) + card.shared_reserved;
  return int(std::min<i64>(blocks, card.shared_sm / shared));
}

}  // namespace speedlight
