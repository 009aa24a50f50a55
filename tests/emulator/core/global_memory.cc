// Registered global memory: which bytes are elements, which were written.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "core/machine.h"
#include "memory.h"

namespace speedlight::emulator {
namespace {

enum Flag : u8 { inside = 1, written = 2 };

// The last access of a kind to two bytes. Launches order everything; inside one, only the same block's barriers do.
struct GlobalEpoch {
  static constexpr u32 several = ~0u;
  u32 launch = 0, block = 0, time = 0;  // launch 0: none
  u16 thread = 0;
  bool ordered_before(const Thread& t) const {
    if (launch != machine->number) return true;
    if (block == t.block) return t.clock.seen[thread] >= time;
    return block != several && t.clock.others && t.clock.others->have_seen(block, thread, time);
  }
  void set(const Thread& t) {
    const bool other_block = launch == machine->number && block != t.block && !ordered_before(t);
    *this = {machine->number, other_block ? several : t.block, t.clock.seen[t.thread], u16(t.thread)};
  }
};
enum class Use : u8 { read, write, add };
struct Unit {
  GlobalEpoch last[3];  // by Use
};

struct Tensor {
  int id;
  std::string name;
  std::uintptr_t base;
  Access access;
  std::vector<u8> flags;    // one a byte
  std::vector<Unit> units;  // one for two bytes; none for inputs
};

// By address of the last byte, so that lower_bound finds the region that may hold an address.
std::multimap<std::uintptr_t, Tensor>& tensors() {
  static std::multimap<std::uintptr_t, Tensor> all;
  return all;
}
int next_id = 0;
std::uintptr_t lowest = 0, highest = 0;  // of all registered bytes

void find_range() {
  lowest = ~std::uintptr_t(0), highest = 0;
  for (const auto& [last, t] : tensors()) lowest = std::min(lowest, t.base), highest = std::max(highest, last);
}

void enter(Tensor t) {
  if (t.access == Access::output)
    for (std::size_t i = 0; i < t.flags.size(); ++i)
      if (t.flags[i] & inside) *reinterpret_cast<u8*>(t.base + i) = 0xff;
  if (t.access != Access::output)
    for (u8& f : t.flags) f |= f & inside ? written : 0;
  if (t.flags.empty()) return;
  if (t.access != Access::input) t.units.resize(t.flags.size() / 2 + 1);
  const std::uintptr_t last = t.base + t.flags.size() - 1;
  tensors().emplace(last, std::move(t));
  find_range();
}

std::string place(const Tensor& t, std::uintptr_t at) { return t.name + " + " + std::to_string(i64(at) - i64(t.base)) + " bytes"; }

// The flags of the bytes, in the tensor that holds them all. Inputs may overlap (views of one buffer): any that holds them will do.
u8* check(const void* p, u32 bytes, const char* verb, Tensor** found) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  if (at % bytes) fault(std::string(verb) + " of " + std::to_string(bytes) + " bytes of global memory is misaligned");
  std::string near;
  for (auto i = tensors().lower_bound(at); i != tensors().end(); ++i) {
    Tensor& t = i->second;
    if (at < t.base) continue;
    u8* flags = &t.flags[at - t.base];
    bool good = at - t.base + bytes <= t.flags.size();
    for (u32 b = 0; good && b < bytes; ++b) good = flags[b] & inside;
    if (good) {
      *found = &t;
      return flags;
    }
    near = place(t, at) + " is between or past its elements";
  }
  if (near.empty()) {
    for (auto& [last, t] : tensors())
      if (at > last && at - last < 65536) near = place(t, at) + " is past its end";
    for (auto& [last, t] : tensors())
      if (at < t.base && t.base - at < 65536) near = place(t, at) + " is before its start";
  }
  fault(std::string(verb) + " of " + std::to_string(bytes) +
        " bytes of global memory out of range: " + (near.empty() ? "no registered tensor is near" : near));
}

}  // namespace

Region::Region(std::string name, const void* data, i64 bytes, Access access) : id_(next_id++) {
  enter({id_, std::move(name), reinterpret_cast<std::uintptr_t>(data), access, std::vector<u8>(data ? bytes : 0, inside), {}});
}

Region::Region(std::string name, const StridedTensor& s, i32 element_bytes, i64 batch, i64 rows, i64 heads, i64 dim, Access access)
    : id_(next_id++) {
  Tensor t{id_, std::move(name), reinterpret_cast<std::uintptr_t>(s.data), access, {}, {}};
  if (s.data && batch * rows * heads * dim > 0) {
    t.flags.resize(((batch - 1) * s.batch + (rows - 1) * s.row + (heads - 1) * s.head + dim) * element_bytes, 0);
    for (i64 b = 0; b < batch; ++b)
      for (i64 r = 0; r < rows; ++r)
        for (i64 h = 0; h < heads; ++h)
          std::memset(&t.flags[(b * s.batch + r * s.row + h * s.head) * element_bytes], inside, dim * element_bytes);
  }
  enter(std::move(t));
}

Region::~Region() {
  for (auto i = tensors().begin(); i != tensors().end(); ++i)
    if (i->second.id == id_) {
      tensors().erase(i);
      find_range();
      return;
    }
}

i64 Region::unwritten() const {
  i64 n = 0;
  for (auto& [last, t] : tensors())
    if (t.id == id_)
      for (u8 f : t.flags) n += f == inside;
  return n;
}
i64 Region::first_unwritten() const {
  for (auto& [last, t] : tensors())
    if (t.id == id_)
      for (std::size_t i = 0; i < t.flags.size(); ++i)
        if (t.flags[i] == inside) return i64(i);
  return -1;
}

namespace {

// Two unordered accesses, unless both read or both add.
void check_order(Tensor& t, const void* p, u32 bytes, Use use) {
  if (t.units.empty()) return;
  const auto offset = reinterpret_cast<std::uintptr_t>(p) - t.base;
  static const char* const names[] = {"read", "write", "add"};
  for (std::size_t u = offset / 2; u <= (offset + bytes - 1) / 2; ++u) {
    for (const Use other : {Use::read, Use::write, Use::add}) {
      const GlobalEpoch& e = t.units[u].last[int(other)];
      if ((other == use && use != Use::write) || e.ordered_before(self())) continue;
      const std::string who = e.block == GlobalEpoch::several
                                  ? "several blocks"
                                  : "thread " + std::to_string(e.thread) + " of block " + std::to_string(e.block);
      fault(std::string("race in global memory: this ") + names[int(use)] + " of " + place(t, t.base + u * 2) + " and a " +
            names[int(other)] + " by " + who + " of the same launch are not ordered");
    }
    t.units[u].last[int(use)].set(self());
  }
}

const void* read(const void* p, u32 bytes, Use use) {
  Tensor* t;
  const u8* flags = check(p, bytes, "load", &t);
  for (u32 b = 0; b < bytes; ++b)
    if (!(flags[b] & written)) fault("load of " + place(*t, reinterpret_cast<std::uintptr_t>(p) + b) + ", which nothing wrote");
  check_order(*t, p, bytes, use);
  return p;
}
void* write(void* p, u32 bytes, Use use) {
  Tensor* t;
  u8* flags = check(p, bytes, "store", &t);
  if (t->access == Access::input) fault("store to " + place(*t, reinterpret_cast<std::uintptr_t>(p)) + ", an input");
  if (use == Use::write) check_order(*t, p, bytes, use);
  for (u32 b = 0; b < bytes; ++b) flags[b] |= written;
  return p;
}

}  // namespace

bool near_registered(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  return at >= lowest && at <= highest;
}
void plain_access(const void* p, u32 bytes, const char* what) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  for (auto i = tensors().lower_bound(at); i != tensors().end(); ++i)
    if (at >= i->second.base)
      fault(std::string(what) + " of " + std::to_string(bytes) + " bytes of " + place(i->second, at) +
            " by plain C++: kernels touch global memory through ptx/ alone");
}

void check_flag(const u32* p) {
  Tensor* t;
  const u8* flags = check(p, 4, "flag", &t);
  if (t->access == Access::input) fault("flag at " + place(*t, reinterpret_cast<std::uintptr_t>(p)) + ", an input");
  if (!(flags[0] & written)) fault("flag at " + place(*t, reinterpret_cast<std::uintptr_t>(p)) + ", which nothing wrote");
}

const void* global_read(const void* p, u32 bytes) { return read(p, bytes, Use::read); }

void global_load(const void* from, void* to, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  trace(self().site, reinterpret_cast<u64>(from), bytes, false);
  std::memcpy(to, global_read(from, bytes), bytes);
}
void global_store(void* to, const void* from, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  trace(self().site, reinterpret_cast<u64>(to), bytes, false);
  std::memcpy(write(to, bytes, Use::write), from, bytes);
}
namespace {

// red.add.f32: subnormal operands and results become zeros of their sign, and there is one NaN.
float add_flushed(float a, float b) {
  const auto flush = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const float sum = flush(flush(a) + flush(b));
  return sum == sum ? sum : std::bit_cast<float>(0x7fffffffu);
}

}  // namespace

void global_add(float* to, const float* values, u32 count) {
  SPEEDLIGHT_EMULATOR_SITE();
  trace(self().site, reinterpret_cast<u64>(to), count * 4, false);
  read(to, count * 4, Use::add);
  write(to, count * 4, Use::add);
  for (u32 i = 0; i < count; ++i) to[i] = add_flushed(to[i], values[i]);
}
void global_add(double* to, double value) {
  SPEEDLIGHT_EMULATOR_SITE();
  trace(self().site, reinterpret_cast<u64>(to), 8, false);
  read(to, 8, Use::add);
  write(to, 8, Use::add);
  // A NaN stays as it is, a signalling one too; of two the added one.
  if (value != value)
    *to = value;
  else if (*to == *to)
    *to += value;
}

}  // namespace speedlight::emulator
