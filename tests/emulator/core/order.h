// What is ordered before what: a vector clock a thread, a component a thread and a component an mbarrier (for the bulk copies that it counts).
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "base/types.h"

namespace speedlight::emulator {

constexpr i32 max_mbarriers = 64;

// What has been seen of the threads of other blocks of the launch: a list of times by block, never changed but replaced.
struct Others {
  std::map<u32, std::shared_ptr<const std::vector<u32>>> blocks;
  void join(const Others& other);
  void add(u32 block, const std::vector<u32>& seen);
  bool have_seen(u32 block, u32 thread, u32 time) const;
};

// `seen` orders everything; `fenced` only what a proxy fence has put before later bulk copies. fenced <= seen.
struct Clock {
  std::vector<u32> seen, fenced;
  std::shared_ptr<const Others> others;  // null: nothing
  void join_others(const std::shared_ptr<const Others>& other);
  void reset(i32 components);
  void join(const Clock& other);
  void fence() { fenced = seen; }
};

enum class Kind : u8 { plain, cp_async, bulk, mbarrier };

// An access: the component that made it and that component's time. It is ordered before a thread that has seen that time.
struct Epoch {
  u32 time = 0;  // 0: no access
  i32 site = 0;  // code address, see site_offset
  u16 who = 0;
  Kind kind = Kind::plain;
  bool pending = false;  // an asynchronous copy that has not been waited for
};

// The last write of a 4-byte word and the reads since then that no later read is ordered after.
struct Word {
  static constexpr i32 capacity = 4;
  Epoch write;
  Epoch reads[capacity];
  u16 count = 0;
  u16 overflow = 0;  // more reads: number of a list of the block's, 0: none
};

}  // namespace speedlight::emulator
