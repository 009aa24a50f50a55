// Fault reports: who, where, what.
#include <dlfcn.h>

#include <cstdio>
#include <map>

#include "core/machine.h"

namespace speedlight::emulator {

void throw_or_leave(const std::string& report);  // scheduler.cc

namespace {

// The source lines of a code address, innermost first, through addr2line (binutils); "" where that finds nothing.
std::string find_lines(const void* site) {
  Dl_info info;
  if (!dladdr(site, &info) || !info.dli_fname) return "";
  char command[512];
  const auto offset = reinterpret_cast<std::uintptr_t>(site) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) - 1;
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname, std::size_t(offset));
  std::string text;
  if (FILE* pipe = popen(command, "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, pipe)) {
      const std::string s(line);
      if (s.starts_with("??") || s.find("tests/emulator/ptx/") != std::string::npos ||
          s.find("tests/emulator/launch.h") != std::string::npos)
        continue;
      text += "\n      at " + s.substr(0, s.find_last_not_of("\n") + 1);
    }
    pclose(pipe);
  }
  return text;
}

std::string prefix() { return "emulator: " + (machine->config.name.empty() ? std::string("kernel") : machine->config.name) + ": "; }

}  // namespace

std::string describe_site(const void* site) {
  static std::map<const void*, std::string> known;  // a process a site would cost too much
  if (!site) return "";
  const auto found = known.find(site);
  return found != known.end() ? found->second : known[site] = find_lines(site);
}

i32 site_offset(const void* site) {
  return site ? i32(reinterpret_cast<std::intptr_t>(site) - reinterpret_cast<std::intptr_t>(&throw_or_leave)) : 0;
}
const void* site_address(i32 offset) { return offset ? reinterpret_cast<const char*>(&throw_or_leave) + offset : nullptr; }

std::string describe_access(const Block& block, const Epoch& e) {
  std::string text;
  switch (e.kind) {
    case Kind::plain: text = "access"; break;
    case Kind::cp_async: text = "cp.async"; break;
    case Kind::bulk: text = "bulk copy"; break;
    case Kind::mbarrier: text = "mbarrier init"; break;
  }
  if (e.who < block.threads.size()) text += " by thread " + std::to_string(e.who);
  return text + describe_site(site_address(e.site));
}

void fault(const Thread& t, const std::string& what) {
  throw_or_leave(prefix() + "block " + std::to_string(t.block) + ", thread " + std::to_string(t.thread) + " (warp " +
                 std::to_string(t.thread / 32) + ", lane " + std::to_string(t.lane) + "): " + what + "\n    this thread" +
                 describe_site(t.site));
  __builtin_unreachable();
}

void fault(const std::string& what) {
  if (machine->current) fault(*machine->current, what);
  throw_or_leave(prefix() + what);
  __builtin_unreachable();
}

}  // namespace speedlight::emulator
