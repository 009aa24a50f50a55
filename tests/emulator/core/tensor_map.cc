#include "tensor_map.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace speedlight::emulator {

TensorMap make_tensor_map(const StridedTensor& t, i32 element_bytes, i32 dim, i32 rows, i32 heads, i32 batch, i32 box_dim, i32 box_rows) {
  DecodedMap m;
  m.base = static_cast<const u8*>(t.data);
  const i64 strides[4] = {1, t.row, t.head, t.batch};
  const i32 sizes[4] = {dim, rows, heads, batch};
  const auto refuse = [](const char* why) { throw std::invalid_argument(std::string("make_tensor_map: ") + why); };
  if (reinterpret_cast<std::uintptr_t>(t.data) % 16) refuse("the base must be 16-byte aligned");
  for (i32 i = 0; i < 4; ++i) {
    m.size[i] = sizes[i];
    m.stride[i] = strides[i] * element_bytes;
    if (sizes[i] < 1) refuse("every size must be at least 1");
    if (i > 0 && (m.stride[i] % 16 || m.stride[i] < 0)) refuse("strides must be multiples of 16 bytes, not negative");
    if (i > 0 && m.stride[i] == 0 && sizes[i] != 1) refuse("a broadcast dimension must have size 1");
  }
  if (box_dim * element_bytes != 128) refuse("the box must be 128 bytes wide for the 128-byte swizzle");
  if (box_rows < 1 || box_rows > 256) refuse("the box must have 1 to 256 rows");
  m.box_dim = u32(box_dim);
  m.box_rows = u32(box_rows);
  m.element_bytes = u32(element_bytes);
  TensorMap map{};
  std::memcpy(&map, &m, sizeof m);
  return map;
}

DecodedMap decode(const TensorMap& map) {
  DecodedMap m;
  std::memcpy(static_cast<void*>(&m), &map, sizeof m);
  return m;
}

}  // namespace speedlight::emulator
