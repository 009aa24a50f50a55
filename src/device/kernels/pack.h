// Copies tensors (batch, rows, heads, dim) between any element-aligned strides: inputs that the main kernels cannot read become contiguous,
// results go back to where the caller wants them.
#pragma once
#include "config/pack_geometry.h"
#include "config/params.h"
#include "ptx/global.h"

namespace speedlight::kernels {

// The widest access in bytes, at most 16, that suits the base and every stride of both sides and the length of a row of `dim` elements.
template <PackConfig C>
inline i32 pack_unit(const PackJob& job) {
  const auto offsets = [](const StridedTensor& t) {
    return reinterpret_cast<u64>(t.data) | u64((t.batch | t.row | t.head) * C.element_bytes);
  };
  const u64 low = offsets(job.from) | offsets(job.to) | u64(job.dim * C.element_bytes);
  return low % 16 == 0 ? 16 : low % 4 == 0 ? 4 : 2;
}

template <PackConfig C, i32 Unit>
inline void pack_job(const PackJob& job, i64 first, i64 step) {
  const i64 row_units = job.dim * C.element_bytes / Unit, units = job.batch * job.rows * job.heads * row_units;
  for (i64 i = first; i < units; i += step) {
    const i64 line = i / row_units, head = line % job.heads, position = line / job.heads, row = position % job.rows,
              batch = position / job.rows;
    const auto place = [&](const StridedTensor& t) {
      return static_cast<u8*>(t.data) + (batch * t.batch + row * t.row + head * t.head) * C.element_bytes + (i - line * row_units) * Unit;
    };
    if constexpr (Unit == 16)
      ptx::store_global_128(place(job.to), ptx::load_global_128(place(job.from)));
    else if constexpr (Unit == 4)
      ptx::store_global_32(place(job.to), ptx::load_global_32(place(job.from)));
    else
      ptx::store_global_16(place(job.to), ptx::load_global_16(place(job.from)));
  }
}

template <PackConfig C>
inline void pack(const PackParams& p) {
  const i32 block = i32(ptx::block_index());
  i32 which = 0;
  while (which + 1 < p.count && block >= p.jobs[which + 1].first_block) ++which;
  const PackJob& job = p.jobs[which];
  const i32 blocks = (which + 1 < p.count ? p.jobs[which + 1].first_block : i32(ptx::block_count())) - job.first_block;
  const i64 first = i64(block - job.first_block) * C.threads() + ptx::thread_index(), step = i64(blocks) * C.threads();
  const i32 unit = pack_unit<C>(job);
  if (unit == 16)
    pack_job<C, 16>(job, first, step);
  else if (unit == 4)
    pack_job<C, 4>(job, first, step);
  else if constexpr (C.element_bytes == 2)
    pack_job<C, 2>(job, first, step);
}

}  // namespace speedlight::kernels
