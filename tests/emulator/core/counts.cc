// Counts that feed the model of a card: bank conflicts and sectors of warp accesses.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/machine.h"

namespace speedlight::emulator {
namespace {

// Passes over the 32 banks of 4 bytes: lanes of one pass share at most 128 bytes; the same word is read once.
u32 shared_wavefronts(const std::vector<Traced>& lanes) {
  const u32 bytes = lanes[0].bytes;
  const std::size_t at_once = std::min<std::size_t>(32, 128 / bytes);
  u32 sum = 0;
  for (std::size_t first = 0; first < lanes.size(); first += at_once) {
    std::set<u64> words[32];
    for (std::size_t i = first; i < std::min(lanes.size(), first + at_once); ++i)
      for (u64 word = lanes[i].address / 4; word < (lanes[i].address + bytes) / 4; ++word) words[word % 32].insert(word);
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    sum += u32(most);
  }
  return sum;
}

u32 sectors(const std::vector<Traced>& lanes) {
  std::set<u64> all;
  for (const Traced& t : lanes) all.insert(t.address / 32);
  return u32(all.size());
}

}  // namespace

void trace(const void* site, u64 address, u32 bytes, bool shared) {
  if (machine->config.trace) self().traced.push_back({site, address, bytes, shared});
}

void count_traced(Warp& warp) {
  std::map<std::tuple<const void*, bool, u32>, std::vector<Traced>> accesses;  // by place, space and how often the lane was there before
  for (i32 lane = 0; lane < 32; ++lane) {
    std::map<std::pair<const void*, bool>, u32> times;
    for (const Traced& t : warp.lanes[lane].traced) accesses[{t.site, t.shared, times[{t.site, t.shared}]++}].push_back(t);
    warp.lanes[lane].traced.clear();
  }
  Counts& c = machine->counts;
  for (const auto& [key, lanes] : accesses) {
    if (std::get<1>(key))
      ++c.shared_accesses, c.shared_wavefronts += shared_wavefronts(lanes);
    else
      ++c.global_accesses, c.global_sectors += sectors(lanes);
  }
}

u32 matrix_wavefronts(const u32 (&rows)[32]) {
  u32 sum = 0;
  for (i32 matrix = 0; matrix < 4; ++matrix) {
    std::set<u32> groups[8];  // of four banks, as a row of 16 bytes takes
    for (i32 r = 0; r < 8; ++r) groups[rows[matrix * 8 + r] / 16 % 8].insert(rows[matrix * 8 + r]);
    std::size_t most = 0;
    for (const auto& g : groups) most = std::max(most, g.size());
    sum += u32(most);
  }
  return sum;
}

std::string to_text(const Counts& c) {
  const auto n = [](u64 x) { return std::to_string(x); };
  return n(c.mma) + " mma, " + n(c.ldmatrix) + " ldmatrix, " + n(c.stmatrix) + " stmatrix (" + n(c.matrix_wavefronts) + " wavefronts), " +
         n(c.shuffles) + " shuffles and votes, " + n(c.block_barriers) + " block, " + n(c.named_barriers) + " named, " +
         n(c.warp_barriers) + " warp barriers, " + n(c.cp_async) + " cp.async, " + n(c.bulk_copies) + " bulk copies (" + n(c.bulk_bytes) +
         " bytes), " + n(c.shared_accesses) + " shared accesses (" + n(c.shared_wavefronts) + " wavefronts), " + n(c.global_accesses) +
         " global accesses (" + n(c.global_sectors) + " sectors)";
}

}  // namespace speedlight::emulator
