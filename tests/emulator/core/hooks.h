// What the ptx twin calls: one function an operation of the machine, for the GPU thread that runs now. Shared addresses are offsets.
#pragma once
#include "base/types.h"
#include "config/params.h"

namespace speedlight::emulator {

// Who runs now; set by the scheduler at every switch.
struct Identity {
  i32 thread = 0, lane = 0;
  u32 block = 0, blocks = 0;
};
extern const Identity* running;

constexpr u32 shared_base = 5 * 1024;  // not 0, so that an offset taken for an address is caught

void shared_load(u32 from, void* to, u32 bytes);
void shared_store(u32 to, const void* from, u32 bytes);

void global_load(const void* from, void* to, u32 bytes);
void global_store(void* to, const void* from, u32 bytes);
void global_add(float* to, const float* values, u32 count);
void global_add(double* to, double value);

u32 flag_load(const u32* p);
u32 flag_add(u32* p, u32 value);
void flag_wait(const u32* p, u32 value);
void fence_device();

void mma(bool bf16, float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1);
void ldmatrix(u32 (&r)[4], u32 row, bool transposed);
void stmatrix(u32 row, const u32 (&r)[4]);
u32 shuffle_xor(u32 value, i32 lane_mask);
u32 broadcast(u32 value, i32 lane);
bool any(bool value);

void sync_block();
void sync_named(i32 barrier, i32 threads);
void arrive_named(i32 barrier, i32 threads);
void sync_warp();

void mbarrier_init(u32 barrier, u32 arrivals);
void mbarrier_fence_init();
void mbarrier_arrive(u32 barrier);
void mbarrier_arrive_expect(u32 barrier, u32 bytes);
void mbarrier_wait(u32 barrier, u32 parity);

void cp_async(u32 to, const void* from, bool valid);
void cp_async_commit();
void cp_async_wait(u32 pending);
void bulk_copy(u32 to, const void* from, u32 bytes, u32 barrier);
void bulk_tensor_4d(u32 to, const TensorMap& map, i32 dim, i32 row, i32 head, i32 batch, u32 barrier);
void fence_proxy_async();

// Conversions as the hardware rounds: to nearest even, NaN to 0x7fff.
u16 half_from_float(float x);
u16 bfloat_from_float(float x);
float float_from_half(u16 x);
inline float float_from_bfloat(u16 x) { return __builtin_bit_cast(float, u32(x) << 16); }

}  // namespace speedlight::emulator
