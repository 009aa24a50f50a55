// Global memory that kernels may touch: every tensor is registered with its true extent; any other access is a fault.
#pragma once
#include <string>

#include "config/params.h"

namespace speedlight::emulator {

enum class Access : u8 {
  input,       // read only
  output,      // poisoned with NaN patterns at registration; reading what nothing wrote is a fault
  accumulate,  // read, written and added to; its contents count as written
};

// Registers memory for as long as it lives. `data` may be null when there is nothing (no bytes then).
class Region {
 public:
  Region(std::string name, const void* data, i64 bytes, Access access);
  // The elements (b, s, h, d) of a strided tensor only: what lies between them is out of bounds.
  Region(std::string name, const StridedTensor& tensor, i32 element_bytes, i64 batch, i64 rows, i64 heads, i64 dim, Access access);
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();
  // Bytes of its elements that nothing has written since registration, and the byte offset of the first (-1: none).
  i64 unwritten() const;
  i64 first_unwritten() const;

 private:
  int id_;
};

}  // namespace speedlight::emulator
