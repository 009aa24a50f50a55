// The state of the emulated machine: the launch, its resident blocks, their warps and threads.
#pragma once
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "core/fiber.h"
#include "core/hooks.h"
#include "core/order.h"
#include "launch.h"

namespace speedlight::emulator {

struct Block;
struct Warp;

enum class Operation : u8 { none, mma, ldmatrix, ldmatrix_transposed, stmatrix, shuffle_xor, broadcast, any, sync_warp };

// Why a thread does not run.
enum class Wait : u8 { nothing, collective, block_barrier, named_barrier, mbarrier, flag, fence, finished };

// A copy that has been issued and has not landed yet.
struct AsyncCopy {
  u32 to = 0;
  const void* from = nullptr;  // null: zeros
  const void* site = nullptr;
};

// An access of a single lane, for the counts.
struct Traced {
  const void* site;
  u64 address;
  u32 bytes;
  bool shared;
};

// The waits that a lane has been through since its warp last met (convergence.cc).
struct Waited {
  u64 which = 0;              // a hash of all of them; 0: none
  Wait kind = Wait::nothing;  // of the last
  const void* site = nullptr;
};

struct Thread : Identity {
  Fiber fiber;
  Warp* warp = nullptr;
  Wait wait = Wait::nothing;
  u32 wait_on = 0;  // named barrier's number, or mbarrier's address
  u32 wait_parity = 0;
  const void* site = nullptr;  // the code address of its last machine operation
  Waited waited;
  Clock clock;
  Others released;                            // as of the last fence, for flags to hand on
  std::vector<Traced> traced;                 // since the warp last met
  std::vector<AsyncCopy> open;                // cp.async not committed yet
  std::deque<std::vector<AsyncCopy>> groups;  // committed, oldest first
};

// What the lanes bring to a collective operation and take from it.
struct Slot {
  float d[4];
  u32 a[4], b[2];
};

struct Warp {
  Block* block = nullptr;
  Thread* lanes = nullptr;
  u32 priority = 0;  // Warps::random: the highest goes first
  i32 index = 0;
  u32 ready = 0;    // lanes that can run
  u32 arrived = 0;  // lanes that wait in `operation`
  Operation operation = Operation::none;
  u32 operand = 0;  // what all lanes must agree on (shuffle mask, source lane)
  Slot slots[32];
  i32 parted = 0;  // barriers at which some lanes have arrived and others not
  Clock clock;     // scratch of the warp barrier
};

struct NamedBarrier {
  i32 expected = 0, arrived = 0;
  std::vector<Thread*> waiting;
  Clock clock;  // of those that arrived in this phase
  // The lanes of a warp that have arrived, until all have.
  struct Part {
    u32 lanes = 0;
    i32 first = 0;
    Waited waited;  // of the first
  };
  std::vector<Part> warps;
};

struct MBarrier {
  u32 address = 0;
  u32 arrivals = 0;     // a phase
  i64 pending = 0;      // arrivals still missing in this phase
  i64 transaction = 0;  // bytes expected less bytes landed
  u64 phase = 0;        // phases completed
  bool waited = true;   // somebody has waited for the last one of them
  i32 component = 0;    // of the clocks: the bulk copies that it counts
  u32 landed = 0;       // that component's time
  Epoch init;
  Clock arriving, completed;  // of the arrivals of this phase and before; of the completed phases
  std::vector<Thread*> waiting;
};

// A bulk copy under way: rows of the box, already addressed.
struct BulkCopy {
  MBarrier* barrier = nullptr;
  u32 bytes = 0;
  std::vector<AsyncCopy> pieces;  // 16 bytes each
};

struct Block {
  u32 index = 0;
  i32 slot = 0;  // which of the resident blocks
  i32 threads_left = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<u8> shared;                    // from shared_base
  std::vector<Word> words;                   // of the shared memory, who touched them
  std::vector<std::vector<Epoch>> overflow;  // number 0 is not used
  NamedBarrier barriers[16];                 // 0 is the block's own
  std::deque<MBarrier> mbarriers;
  std::deque<BulkCopy> bulk;  // not landed
};

// A word of global memory that blocks wait on: what its value says has happened.
struct Flag {
  Others released;
  std::vector<Thread*> waiting;
};

struct Launch {
  Config config;
  u32 number = 0;  // of the launch, from 1
  u32 grid = 0;
  i32 threads = 0;
  i32 shared_bytes = 0;
  void (*call)(const void*) = nullptr;
  const void* kernel = nullptr;
  std::vector<Block> resident;
  std::vector<u32> order;  // of blocks
  u32 next = 0;            // in `order`
  std::map<const u32*, Flag> flags;
  std::mt19937_64 random;
  // Warps::random: one less than a power of two; after so many turns on average the warp that goes first gets another priority.
  u32 patience = 0;
  Fiber main;
  Thread* current = nullptr;  // null: the scheduler runs
  Counts counts;
  std::string fault;  // the report; not empty: the launch ends
};

extern Launch* machine;  // the launch that runs
inline Thread& self() { return *machine->current; }

// scheduler.cc
void block_on(Wait why, u32 on = 0, u32 parity = 0);  // leaves the current thread until wake()
void wake(Thread& thread);
void preemption_point();  // other warps may go first now

// report.cc: ends the launch with a message that names kernel, block, thread and source lines.
[[noreturn]] void fault(const std::string& what);
[[noreturn]] void fault(const Thread& thread, const std::string& what);
std::string describe_site(const void* site);
std::string describe_access(const Block& block, const Epoch& epoch);
i32 site_offset(const void* site);  // small form of a code address, and back
const void* site_address(i32 offset);

// shared_memory.cc: a shared access by `thread`: range, alignment, initialisation, order. Returns where the bytes are.
void* shared_read(Thread& thread, u32 address, u32 bytes);
void* shared_write(Thread& thread, u32 address, u32 bytes, Kind kind = Kind::plain);
// 16 bytes of an asynchronous copy, issued by `thread`: a write that is pending until shared_land.
void shared_begin(Thread& thread, u32 address, Kind kind, u16 who);
void* shared_land(Block& block, u32 address, u32 time);

// convergence.cc
void note_wait(Wait kind, u64 on = 0, u64 value = 0);  // the running lane goes through a wait
void check_warp_together(Warp& warp);                  // the whole warp meets
void arrive_in_warp(i32 barrier);                      // the running lane arrives there; faults unless its warp is together
std::string barrier_name(i32 number);

// barrier.cc
void check_barriers_at_end();              // the running thread ends: of a block that ends, no barrier waits for threads
void publish(Thread& thread, Clock& to);   // release: what the thread did so far, to those that acquire `to`
MBarrier& mbarrier_for_bulk(u32 address);  // of the running thread's block; checks that its init is visible to bulk copies
u32 mbarrier_next_landing(MBarrier& barrier);

// async.cc
bool land_bulk(Block& block);  // lands the oldest bulk copy; false: none
void check_copies_at_end();    // the running thread ends: it has waited for its cp.asyncs, and someone for every bulk copy
void complete_transaction(MBarrier& barrier, u32 bytes);

// global_memory.cc: a load of registered memory, checked
const void* global_read(const void* p, u32 bytes);
void check_flag(const u32* p);                                  // a word that may be added to and has been written
bool near_registered(const void* p);                            // between the lowest and the highest registered byte
void plain_access(const void* p, u32 bytes, const char* what);  // faults if p lies in a registered tensor

// counts.cc
void trace(const void* site, u64 address, u32 bytes, bool shared);
void count_traced(Warp& warp);                 // takes what its lanes traced as warp accesses
u32 matrix_wavefronts(const u32 (&rows)[32]);  // addresses of the 32 rows of an ldmatrix or stmatrix

// Every hook starts with this: remembers where the kernel is.
#define SPEEDLIGHT_EMULATOR_SITE() (::speedlight::emulator::self().site = __builtin_return_address(0))

}  // namespace speedlight::emulator
