// One kernel for each group of functions of ptx/: inputs from a buffer, results to a buffer. The same text is compiled by NVRTC for GPUs and by
// g++ over the emulator's twin of ptx/. Only groups.cc knows what lies in the buffers.
#pragma once
#include "config/params.h"
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/cp_async.h"
#include "ptx/global.h"
#include "ptx/math.h"
#include "ptx/matrix.h"
#include "ptx/mbarrier.h"
#include "ptx/mma.h"
#include "ptx/warp.h"

namespace speedlight::conformance {

struct Arguments {
  TensorMap map;  // bulk only
  const u8* input;
  u8* output;
  i32 boxes, slabs, box_rows;  // bulk only
};

// Every kernel's name. An entry's symbol is conformance_<name>.
// clang-format off
#define SPEEDLIGHT_CONFORMANCE_KERNELS(X)                                                                                           \
  X(identity) X(exp2) X(log2) X(reciprocal) X(fma) X(multiply) X(subtract) X(maximum) X(minimum) X(exp_double) X(log_double)        \
  X(bits) X(shift_left) X(pack_bf16) X(pack_fp16) X(unpack_bf16) X(unpack_fp16) X(shuffle) X(vote) X(shared) X(global)              \
  X(add_float) X(add_float4) X(add_double) X(flags) X(cp_async) X(cp_async_invalid) X(matrix) X(mma_bf16) X(mma_fp16) X(barriers) X(mbarriers) X(bulk) X(bulk_bytes)
// clang-format on

inline i64 item(i32 threads) { return i64(ptx::block_index()) * threads + ptx::thread_index(); }
inline u32 word(const Arguments& a, i64 index) { return ptx::load_global_32(a.input + index * 4); }
inline void put(const Arguments& a, i64 index, u32 value) { ptx::store_global_32(a.output + index * 4, value); }
inline float float_at(const Arguments& a, i64 index) { return ptx::load_global_float(reinterpret_cast<const float*>(a.input) + index); }
inline double double_at(const Arguments& a, i64 index) { return ptx::load_global_double(reinterpret_cast<const double*>(a.input) + index); }

// ---- who am I: 6 words a thread, blocks of 64 ---------------------------------------------------------------------------------------
inline void identity(const Arguments& a) {
  const i64 i = item(64) * 6;
  put(a, i, u32(ptx::thread_index()));
  put(a, i + 1, ptx::block_index());
  put(a, i + 2, ptx::block_count());
  put(a, i + 3, u32(ptx::lane_index()));
  put(a, i + 4, ptx::dynamic_shared() % 1024);
  put(a, i + 5, u32(ptx::elected()));
}

// ---- arithmetic: one result a thread, blocks of 128 ---------------------------------------------------------------------------------
template <int Operands, class F>
void floats(const Arguments& a, const F& f) {
  const i64 i = item(128);
  float x[Operands];
  for (int j = 0; j < Operands; ++j) x[j] = float_at(a, i * Operands + j);
  ptx::store_global_float(reinterpret_cast<float*>(a.output) + i, f(x));
}
inline void exp2(const Arguments& a) {
  floats<1>(a, [](const float* x) { return ptx::exp2(x[0]); });
}
inline void log2(const Arguments& a) {
  floats<1>(a, [](const float* x) { return ptx::log2(x[0]); });
}
inline void reciprocal(const Arguments& a) {
  floats<1>(a, [](const float* x) { return ptx::reciprocal(x[0]); });
}
inline void fma(const Arguments& a) {
  floats<3>(a, [](const float* x) { return ptx::fma(x[0], x[1], x[2]); });
}
inline void multiply(const Arguments& a) {
  floats<2>(a, [](const float* x) { return ptx::multiply(x[0], x[1]); });
}
inline void subtract(const Arguments& a) {
  floats<2>(a, [](const float* x) { return ptx::subtract(x[0], x[1]); });
}
inline void maximum(const Arguments& a) {
  floats<2>(a, [](const float* x) { return ptx::maximum(x[0], x[1]); });
}
inline void minimum(const Arguments& a) {
  floats<2>(a, [](const float* x) { return ptx::minimum(x[0], x[1]); });
}
inline void exp_double(const Arguments& a) {
  ptx::store_global_double(reinterpret_cast<double*>(a.output) + item(128), ptx::exp(double_at(a, item(128))));
}
inline void log_double(const Arguments& a) {
  ptx::store_global_double(reinterpret_cast<double*>(a.output) + item(128), ptx::log(double_at(a, item(128))));
}
inline void bits(const Arguments& a) {
  const i64 i = item(128);
  put(a, i, ptx::bits(i == 0 ? ptx::infinity() : ptx::from_bits(word(a, i))));
}
inline void shift_left(const Arguments& a) { put(a, item(128), ptx::shift_left(word(a, item(128) * 2), word(a, item(128) * 2 + 1))); }
template <DType T>
void pack(const Arguments& a) {
  const i64 i = item(128);
  put(a, i, ptx::pack<T>(float_at(a, i * 2), float_at(a, i * 2 + 1)));
}
template <DType T>
void unpack(const Arguments& a) {
  const i64 i = item(128);
  const u32 both = word(a, i);
  ptx::store_global_float(reinterpret_cast<float*>(a.output) + i * 2, ptx::unpack_lo<T>(both));
  ptx::store_global_float(reinterpret_cast<float*>(a.output) + i * 2 + 1, ptx::unpack_hi<T>(both));
}
inline void pack_bf16(const Arguments& a) { pack<DType::bf16>(a); }
inline void pack_fp16(const Arguments& a) { pack<DType::fp16>(a); }
inline void unpack_bf16(const Arguments& a) { unpack<DType::bf16>(a); }
inline void unpack_fp16(const Arguments& a) { unpack<DType::fp16>(a); }

// ---- warps: blocks of 64. Input 4 words a thread (u32, float, double); output 27 words: u32, float and double by each mask, 3 broadcasts ---
inline void shuffle(const Arguments& a) {
  const i64 i = item(64);
  const u32 integer = word(a, i * 4);
  const float single = float_at(a, i * 4 + 1);
  const double wide = double_at(a, i * 2 + 1);
  constexpr i32 masks[6] = {1, 2, 4, 8, 16, 31};
  const i64 to = i * 28;
  for (i32 m = 0; m < 6; ++m) {
    put(a, to + m * 4, ptx::shuffle_xor(integer, masks[m]));
    put(a, to + m * 4 + 1, ptx::bits(ptx::shuffle_xor(single, masks[m])));
    ptx::store_global_double(reinterpret_cast<double*>(a.output) + to / 2 + m * 2 + 1, ptx::shuffle_xor(wide, masks[m]));
  }
  put(a, to + 24, u32(ptx::broadcast(i32(integer), 0)));
  put(a, to + 25, u32(ptx::broadcast(i32(integer), 13)));
  put(a, to + 26, u32(ptx::broadcast(i32(integer), 31)));
}
// Input a word a thread; output for each of 8 bits of it whether any lane has it, as 8 bits.
inline void vote(const Arguments& a) {
  const i64 i = item(64);
  const u32 mine = word(a, i);
  u32 found = 0;
  for (i32 b = 0; b < 8; ++b) found |= u32(ptx::any((mine >> b & 1) != 0)) << b;
  put(a, i, found);
}

// ---- shared memory: a block of 64; 8 words a thread in, 14 out: everything another thread wrote, by every width ---------------------------
inline void shared(const Arguments& a) {
  const i32 t = ptx::thread_index();
  const ptx::SharedAddress base = ptx::dynamic_shared(), words = base + 64 * 16, floats = words + 64 * 8;
  ptx::store_shared_128(base + u32(t) * 16, ptx::load_global_128(a.input + i64(t) * 32));
  for (i32 j = 0; j < 2; ++j) {
    ptx::store_shared_32(words + u32(t * 2 + j) * 4, word(a, t * 8 + 4 + j));
    ptx::store_shared_float(floats + u32(t * 2 + j) * 4, float_at(a, t * 8 + 6 + j));
  }
  ptx::sync_block();
  const u32 other = u32(t) * 5 % 64;
  const ptx::Words4 four = ptx::load_shared_128(base + other * 16);
  for (i32 j = 0; j < 4; ++j) put(a, t * 14 + j, four.x[j]);
  const ptx::Floats2 pair = ptx::load_shared_float2(floats + other * 8);
  put(a, t * 14 + 4, ptx::bits(pair.x));
  put(a, t * 14 + 5, ptx::bits(pair.y));
  for (i32 j = 0; j < 4; ++j) put(a, t * 14 + 6 + j, ptx::load_shared_32(base + other * 16 + u32(j) * 4));
  for (i32 j = 0; j < 2; ++j) put(a, t * 14 + 10 + j, ptx::load_shared_32(words + other * 8 + u32(j) * 4));
  for (i32 j = 0; j < 2; ++j) put(a, t * 14 + 12 + j, ptx::bits(ptx::load_shared_float(floats + other * 8 + u32(j) * 4)));
}

// ---- global memory: blocks of 64; 48 bytes a thread in, each width stored elsewhere in 48 bytes of output ---------------------------------
inline void global(const Arguments& a) {
  const i64 at = item(64) * 48;
  ptx::store_global_128(a.output + at + 32, ptx::load_global_128(a.input + at));
  ptx::store_global_double(reinterpret_cast<double*>(a.output + at + 24),
                           ptx::load_global_double(reinterpret_cast<const double*>(a.input + at + 16)));
  ptx::store_global_float(reinterpret_cast<float*>(a.output + at + 16),
                          ptx::load_global_float(reinterpret_cast<const float*>(a.input + at + 24)));
  ptx::store_global_32(a.output + at + 20, ptx::load_global_32(a.input + at + 28));
  ptx::store_global_64(a.output + at + 8, ptx::load_global_32(a.input + at + 36), ptx::load_global_32(a.input + at + 32));
  for (i32 j = 0; j < 3; ++j) ptx::store_global_16(a.output + at + 2 + j * 2, ptx::load_global_16(a.input + at + 34 + j * 2));
}
// Input (start, addend) for each result; one adder, so that the result is exact.
inline void add_float(const Arguments& a) {
  const i64 i = item(128);
  float* to = reinterpret_cast<float*>(a.output) + i;
  ptx::store_global_float(to, float_at(a, i * 2));
  ptx::add_global_float(to, float_at(a, i * 2 + 1));
}
inline void add_float4(const Arguments& a) {
  const i64 i = item(128);
  ptx::store_global_128(a.output + i * 16, ptx::load_global_128(a.input + i * 32));
  float v[4];
  for (i32 j = 0; j < 4; ++j) v[j] = float_at(a, i * 8 + 4 + j);
  ptx::add_global_float4(reinterpret_cast<float*>(a.output) + i * 4, v);
}
inline void add_double(const Arguments& a) {
  const i64 i = item(128);
  double* to = reinterpret_cast<double*>(a.output) + i;
  ptx::store_global_double(to, double_at(a, i * 2));
  ptx::add_global_double(to, double_at(a, i * 2 + 1));
}

// ---- flags: one thread a block. Input 2 words a block: the flag's value and what is added. Output: the flag, what the add found, what is read --
inline void flags(const Arguments& a) {
  if (ptx::thread_index() != 0) return;
  const i64 block = i64(ptx::block_index());
  const u32 start = word(a, block * 2), more = word(a, block * 2 + 1);
  u32* flag = reinterpret_cast<u32*>(a.output) + block * 3;
  ptx::store_global_32(flag, start);
  put(a, block * 3 + 1, ptx::add_relaxed_32(flag, more));
  ptx::fence_device();
  ptx::wait_acquire_32(flag, start + more);
  put(a, block * 3 + 2, ptx::load_acquire_32(flag));
}

// ---- cp.async: blocks of 64. Input 3 x 64 chunks of 16 bytes, then 3 x 64 words: the low bits name a chunk, bit 31 makes it invalid ---------
inline void copy_chunks(const Arguments& a, bool readable) {
  const i32 t = ptx::thread_index();
  const ptx::SharedAddress base = ptx::dynamic_shared();
  const i64 from = i64(ptx::block_index()) * (192 * 20);
  for (i32 g = 0; g < 3; ++g) {
    const u32 choice = ptx::load_global_32(a.input + from + 192 * 16 + (g * 64 + t) * 4);
    const bool valid = choice >> 31 == 0;
    const u8* chunk = a.input + from + i64(choice & 0xff) * 16;
    ptx::cp_async_16(base + u32(g * 64 + t) * 16, valid || readable ? chunk : nullptr, valid);
    ptx::cp_async_commit();
    if (g == 1) ptx::cp_async_commit();  // a group without copies counts too
  }
  const i64 to = i64(ptx::block_index()) * 192;
  ptx::cp_async_wait<3>();
  ptx::store_global_128(a.output + (to + t) * 16, ptx::load_shared_128(base + u32(t) * 16));
  ptx::cp_async_wait<1>();
  ptx::store_global_128(a.output + (to + 64 + t) * 16, ptx::load_shared_128(base + u32(64 + t) * 16));
  ptx::cp_async_wait<0>();
  ptx::sync_block();
  const i32 other = (t * 7 + 3) % 64;
  ptx::store_global_128(a.output + (to + 128 + t) * 16, ptx::load_shared_128(base + u32(128 + other) * 16));
}
inline void cp_async(const Arguments& a) { copy_chunks(a, true); }
inline void cp_async_invalid(const Arguments& a) { copy_chunks(a, false); }  // the pointer of an invalid copy is not readable

// ---- matrices: a warp a block. Input 64 rows of 16 bytes, 32 rows to load, 32 distinct rows to store to (words); output both loads, 64 rows ---
inline void matrix(const Arguments& a) {
  const i32 lane = ptx::lane_index();
  const i64 from = i64(ptx::block_index()) * 1280, to = i64(ptx::block_index()) * 2048;
  const ptx::SharedAddress base = ptx::dynamic_shared(), second = base + 1024;
  for (i32 half = 0; half < 2; ++half) {
    ptx::store_shared_128(base + u32(half * 32 + lane) * 16, ptx::load_global_128(a.input + from + (half * 32 + lane) * 16));
    ptx::store_shared_128(second + u32(half * 32 + lane) * 16, ptx::Words4{{0, 0, 0, 0}});
  }
  ptx::sync_warp();
  const u32 row = ptx::load_global_32(a.input + from + 1024 + lane * 4), target = ptx::load_global_32(a.input + from + 1152 + lane * 4);
  u32 plain[4], transposed[4];
  ptx::ldmatrix_x4(plain, base + row * 16);
  ptx::ldmatrix_x4_transposed(transposed, base + row * 16);
  for (i32 j = 0; j < 4; ++j) {
    ptx::store_global_32(a.output + to + (lane * 8 + j) * 4, plain[j]);
    ptx::store_global_32(a.output + to + (lane * 8 + 4 + j) * 4, transposed[j]);
  }
  ptx::stmatrix_x4(second + target * 16, plain);
  ptx::sync_warp();
  for (i32 half = 0; half < 2; ++half)
    ptx::store_global_128(a.output + to + 1024 + (half * 32 + lane) * 16, ptx::load_shared_128(second + u32(half * 32 + lane) * 16));
}

// ---- mma: a warp a block. Input A (16 x 16), B by columns (8 x 16), C (16 x 8, float); output D like C -----------------------------------------
template <DType T>
void mma(const Arguments& a) {
  const i32 lane = ptx::lane_index(), group = lane / 4, pair = lane % 4 * 2;
  const u8* from = a.input + i64(ptx::block_index()) * 1280;
  const float* c = reinterpret_cast<const float*>(from + 768);
  float* to = reinterpret_cast<float*>(a.output) + i64(ptx::block_index()) * 128;
  u32 fragment[4], b[2];
  float d[4];
  for (i32 j = 0; j < 4; ++j) {
    fragment[j] = ptx::load_global_32(from + ((group + j % 2 * 8) * 16 + j / 2 * 8 + pair) * 2);
    d[j] = ptx::load_global_float(c + (group + j / 2 * 8) * 8 + pair + j % 2);
  }
  for (i32 j = 0; j < 2; ++j) b[j] = ptx::load_global_32(from + 512 + (group * 16 + j * 8 + pair) * 2);
  ptx::mma_16816<T>(d, fragment, b[0], b[1]);
  for (i32 j = 0; j < 4; ++j) ptx::store_global_float(to + (group + j / 2 * 8) * 8 + pair + j % 2, d[j]);
}
inline void mma_bf16(const Arguments& a) { mma<DType::bf16>(a); }
inline void mma_fp16(const Arguments& a) { mma<DType::fp16>(a); }

// ---- barriers: a block of 128, a word a thread in, 3 out: what crossed a named barrier one way, both ways, and a warp barrier ---------------
inline void barriers(const Arguments& a) {
  const i32 t = ptx::thread_index(), warp = t / 32;
  const ptx::SharedAddress base = ptx::dynamic_shared(), second = base + 512, third = base + 1024;
  const u32 mine = word(a, t);
  if (warp < 2) {
    ptx::store_shared_32(base + u32(t) * 4, mine);
    ptx::arrive_named(1, 128);
    ptx::sync_named(15, 128);
    put(a, t * 3, ptx::load_shared_32(base + u32(64 + (t * 3 + 1) % 64) * 4));
  } else {
    ptx::sync_named(1, 128);
    put(a, t * 3, ptx::load_shared_32(base + u32(t * 3 + 1) % 64 * 4));
    ptx::store_shared_32(base + u32(t) * 4, ~mine);
    ptx::arrive_named(15, 128);
  }
  const i32 half = t / 64;
  for (i32 round = 0; round < 2; ++round) {  // each half by itself, and the same barrier again
    ptx::store_shared_32(second + u32(t) * 4, mine + u32(round));
    ptx::sync_named(2 + half, 64);
    put(a, t * 3 + 1, ptx::load_shared_32(second + u32(half * 64 + (t * 5 + 2) % 64) * 4));
    ptx::sync_named(2 + half, 64);
  }
  ptx::store_shared_32(third + u32(t) * 4, mine);
  ptx::sync_warp();
  put(a, t * 3 + 2, ptx::load_shared_32(third + u32(t ^ 21) * 4));
  ptx::sync_block();
}

// ---- mbarriers: a block of 128. Warp 0 sends 8 x 32 words through two stages, three warps read them; output for each reader 8 words --------
inline void send(const Arguments& a, ptx::SharedAddress full, ptx::SharedAddress empty, ptx::SharedAddress stages) {
  const i32 lane = ptx::lane_index();
  for (i32 step = 0; step < 8; ++step) {
    const u32 stage = u32(step % 2), round = u32(step / 2);
    ptx::mbarrier_wait(empty + stage * 8, (round & 1) ^ 1);  // the first round waits for the phase before the first, which has completed
    ptx::store_shared_32(stages + (stage * 32 + u32(lane)) * 4, word(a, step * 32 + lane));
    ptx::mbarrier_arrive(full + stage * 8);
  }
}
inline void receive(const Arguments& a, ptx::SharedAddress full, ptx::SharedAddress empty, ptx::SharedAddress stages) {
  const i32 t = ptx::thread_index(), lane = ptx::lane_index();
  for (i32 step = 0; step < 8; ++step) {
    const u32 stage = u32(step % 2), round = u32(step / 2);
    ptx::mbarrier_wait(full + stage * 8, round & 1);
    put(a, i64(t - 32) * 8 + step, ptx::load_shared_32(stages + (stage * 32 + u32((lane * 3 + t / 32) % 32)) * 4));
    ptx::sync_warp();
    ptx::mbarrier_arrive_if(empty + stage * 8, lane == step);
  }
}
inline void mbarriers(const Arguments& a) {
  const ptx::SharedAddress full = ptx::dynamic_shared(), empty = full + 16, stages = full + 64;
  if (ptx::thread_index() == 0) {
    for (u32 stage = 0; stage < 2; ++stage) {
      ptx::mbarrier_init(full + stage * 8, 32);
      ptx::mbarrier_init(empty + stage * 8, 3);
    }
    ptx::mbarrier_fence_init();
  }
  ptx::sync_block();
  if (ptx::thread_index() < 32)
    send(a, full, empty, stages);
  else
    receive(a, full, empty, stages);
}

// ---- bulk copies: a block of 64. Input 4 words (coordinates) a box, then the tensor; output the boxes as they lie in shared memory ----------
inline void bulk(const Arguments& a) {
  const i32 t = ptx::thread_index();
  const u32 box_bytes = u32(a.box_rows) * 128, bytes = box_bytes * u32(a.slabs);
  const ptx::SharedAddress barrier = ptx::dynamic_shared(), boxes = barrier + 1024;
  if (t == 0) {
    ptx::mbarrier_init(barrier, 2);
    ptx::mbarrier_fence_init();
  }
  for (i32 box = 0; box < a.boxes; ++box) {
    for (u32 at = u32(t) * 4; at < bytes; at += 64 * 4) ptx::store_shared_32(boxes + at, 0xdeadbeef);
    ptx::fence_proxy_async();  // the copy must land on top of these
    ptx::sync_block();
    if (t == 0) {
      ptx::mbarrier_arrive_expect(barrier, bytes);
      for (i32 slab = 0; slab < a.slabs; ++slab)
        ptx::bulk_tensor_4d(boxes + u32(slab) * box_bytes, a.map, i32(word(a, box * 4)) + slab * 64, i32(word(a, box * 4 + 1)),
                            i32(word(a, box * 4 + 2)), i32(word(a, box * 4 + 3)), barrier);
    }
    if (t == 32) ptx::mbarrier_arrive(barrier);
    ptx::mbarrier_wait(barrier, u32(box) & 1);
    for (u32 at = u32(t) * 16; at < bytes; at += 64 * 16)
      ptx::store_global_128(a.output + i64(box) * bytes + at, ptx::load_shared_128(boxes + at));
    ptx::sync_block();
  }
}

// ---- bulk copies of plain bytes: a block of 64. Input 256 words; output the 1024 bytes on which three copies of them land -------------------
inline void bulk_bytes(const Arguments& a) {
  const i32 t = ptx::thread_index();
  const ptx::SharedAddress barrier = ptx::dynamic_shared(), bytes = barrier + 128;
  if (t == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::mbarrier_fence_init();
  }
  for (u32 at = u32(t) * 4; at < 1024; at += 64 * 4) ptx::store_shared_32(bytes + at, 0xdeadbeef);
  ptx::fence_proxy_async();  // the copies must land on top of these
  ptx::sync_block();
  if (t == 0) {
    ptx::mbarrier_arrive_expect(barrier, 16 + 240 + 512);
    ptx::bulk_copy(bytes + 992, a.input + 16, 16, barrier);
    ptx::bulk_copy(bytes + 32, a.input + 256, 240, barrier);
    ptx::bulk_copy(bytes + 288, a.input + 512, 512, barrier);
  }
  ptx::mbarrier_wait(barrier, 0);
  ptx::store_global_128(a.output + t * 16, ptx::load_shared_128(bytes + u32(t) * 16));
}

}  // namespace speedlight::conformance

#ifdef __CUDACC_RTC__
#define SPEEDLIGHT_ENTRY(name)                                                                                  \
  extern "C" __global__ void conformance_##name(const __grid_constant__ speedlight::conformance::Arguments a) { \
    speedlight::conformance::name(a);                                                                           \
  }
SPEEDLIGHT_CONFORMANCE_KERNELS(SPEEDLIGHT_ENTRY)
#endif
