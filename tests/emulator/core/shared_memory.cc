// The block's shared memory: every access is checked for range, alignment, initialisation and order.
#include <cstring>

#include "core/machine.h"

namespace speedlight::emulator {
namespace {

[[noreturn]] void fault_at(const Thread& t, const Word& word, const std::string& what, const Epoch& other) {
  const Block& block = *t.warp->block;
  fault(t, what + " at shared byte " + std::to_string((&word - block.words.data()) * 4) + "\n    the other is the " +
               describe_access(block, other));
}

// The words of an access in range.
Word* check(Thread& t, u32 address, u32 bytes) {
  Block& block = *t.warp->block;
  const i64 offset = i64(address) - shared_base;
  const auto describe = [&] { return "shared access of " + std::to_string(bytes) + " bytes at byte " + std::to_string(offset); };
  if (offset < 0 || offset + bytes > i64(block.shared.size()))
    fault(t, describe() + " is out of range: the block has " + std::to_string(block.shared.size()));
  if (offset % bytes) fault(t, describe() + " is misaligned");
  return &block.words[offset / 4];
}

bool ordered(const Thread& t, const Epoch& e) { return t.clock.seen[e.who] >= e.time; }

// Against the last write; `reads` tells how a report words it.
void check_write(const Thread& t, const Word& word, bool reads) {
  const Epoch& w = word.write;
  if (w.pending)
    fault_at(t, word,
             std::string(reads ? "reads" : "writes") + " where an asynchronous copy may still be under way (it was not waited for)", w);
  if (!ordered(t, w))
    fault_at(t, word,
             std::string(reads ? "race: reads what another wrote" : "race: writes what another wrote") + ", with no barrier between", w);
  if (w.kind == Kind::mbarrier) fault_at(t, word, "plain access to an mbarrier", w);
}

void check_reads(const Thread& t, const Block& block, const Word& word) {
  const auto check_one = [&](const Epoch& r) {
    if (!ordered(t, r)) fault_at(t, word, "race: writes what another reads, with no barrier between", r);
  };
  for (i32 i = 0; i < word.count; ++i) check_one(word.reads[i]);
  if (word.overflow)
    for (const Epoch& r : block.overflow[word.overflow]) check_one(r);
}

// Reads that this one is ordered after need not be kept: a write that is ordered after this one is after them too.
void note_read(const Thread& t, Block& block, Word& word, i32 site) {
  const Epoch now{t.clock.seen[t.thread], site, u16(t.thread), Kind::plain, false};
  i32 kept = 0;
  for (i32 i = 0; i < word.count; ++i)
    if (!ordered(t, word.reads[i])) word.reads[kept++] = word.reads[i];
  word.count = u16(kept);
  if (kept < Word::capacity) {
    word.reads[word.count++] = now;
    return;
  }
  if (!word.overflow) {
    word.overflow = u16(block.overflow.size());
    block.overflow.emplace_back();
  }
  auto& more = block.overflow[word.overflow];
  std::erase_if(more, [&](const Epoch& r) { return ordered(t, r); });
  more.push_back(now);
}

void replace(Block& block, Word& word, const Epoch& write) {
  word.write = write;
  word.count = 0;
  if (word.overflow) block.overflow[word.overflow].clear();
}

}  // namespace

void* shared_read(Thread& t, u32 address, u32 bytes) {
  Word* words = check(t, address, bytes);
  Block& block = *t.warp->block;
  const i32 site = site_offset(t.site);
  for (u32 i = 0; i < bytes / 4; ++i) {
    if (words[i].write.time == 0) fault(t, "reads shared byte " + std::to_string(address - shared_base + i * 4) + ", which nothing wrote");
    check_write(t, words[i], true);
    note_read(t, block, words[i], site);
  }
  return block.shared.data() + (address - shared_base);
}

void* shared_write(Thread& t, u32 address, u32 bytes, Kind kind) {
  Word* words = check(t, address, bytes);
  Block& block = *t.warp->block;
  const Epoch write{t.clock.seen[t.thread], site_offset(t.site), u16(t.thread), kind, false};
  for (u32 i = 0; i < bytes / 4; ++i) {
    check_write(t, words[i], false);
    check_reads(t, block, words[i]);
    replace(block, words[i], write);
  }
  return block.shared.data() + (address - shared_base);
}

void shared_begin(Thread& t, u32 address, Kind kind, u16 who) {
  Word* words = check(t, address, 16);
  Block& block = *t.warp->block;
  for (u32 i = 0; i < 4; ++i) {
    const Epoch& before = words[i].write;
    check_write(t, words[i], false);
    check_reads(t, block, words[i]);
    if (kind == Kind::bulk && before.kind != Kind::bulk && before.time > t.clock.fenced[before.who])
      fault_at(t, words[i], "bulk copy over a plain write, with no proxy fence between", before);
    replace(block, words[i], {1, site_offset(t.site), who, kind, true});
  }
}

void* shared_land(Block& block, u32 address, u32 time) {
  for (u32 i = 0; i < 4; ++i) {
    Epoch& write = block.words[(address - shared_base) / 4 + i].write;
    write.time = time;
    write.pending = false;
  }
  return block.shared.data() + (address - shared_base);
}

void shared_load(u32 from, void* to, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  trace(self().site, from, bytes, true);
  std::memcpy(to, shared_read(self(), from, bytes), bytes);
}
void shared_store(u32 to, const void* from, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  trace(self().site, to, bytes, true);
  std::memcpy(shared_write(self(), to, bytes), from, bytes);
}

}  // namespace speedlight::emulator
