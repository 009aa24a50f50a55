// The digest of config/digest_config.h: a sum over 32-bit words, so that neither the grid nor any order matters. A last half word counts as
// a word.
#pragma once
#include "config/digest_config.h"
#include "ptx/global.h"
#include "ptx/warp.h"

namespace speedlight::kernels {

template <DigestConfig C>
inline void digest(const DigestParams& p) {
  const auto* data = static_cast<const u8*>(p.data);
  const i64 words = p.bytes / 4, step = i64(ptx::block_count()) * C.threads();
  u64 sum = 0;
  i64 i = i64(ptx::block_index()) * C.threads() + ptx::thread_index();
  for (; i < words; i += step) sum += digest_term(ptx::load_global_32(data + 4 * i), u32(i));
  if (i == words && p.bytes % 4 != 0) sum += digest_term(ptx::load_global_16(data + 4 * i), u32(i));
  for (i32 lanes = 16; lanes > 0; lanes /= 2) sum += u64(ptx::shuffle_xor(u32(sum >> 32), lanes)) << 32 | ptx::shuffle_xor(u32(sum), lanes);
  if (ptx::lane_index() == 0)
    ptx::store_global_64(p.sums + ptx::block_index() * C.warps() + ptx::thread_index() / 32, u32(sum), u32(sum >> 32));
}

}  // namespace speedlight::kernels
