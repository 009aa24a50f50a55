// Memory of one thread for the tiles it works on: allocated at the first item, kept for the next ones.
#pragma once
#include <memory>
#include <new>
#include <vector>

#include "base/types.h"
#include "cpu/kernels.h"

namespace speedlight::cpu {

class Scratch {
 public:
  // Starts over, with room for `floats` in all and `columns` entries of row ranges.
  void reset(i64 floats, i64 columns) {
    if (floats > capacity_) {
      memory_.reset(static_cast<float*>(::operator new[](size_t(floats) * sizeof(float), alignment)));
      capacity_ = floats;
    }
    ranges_.resize(size_t(columns));
    used_ = 0;
  }
  // The next `count` floats, on a cache line of their own.
  float* take(i64 count) {
    float* result = memory_.get() + used_;
    used_ += padded(count);
    return result;
  }
  static constexpr i64 padded(i64 count) { return round_up<i64>(count, 16); }
  Rows* ranges() { return ranges_.data(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Release {
    void operator()(float* memory) const { ::operator delete[](memory, alignment); }
  };
  std::unique_ptr<float[], Release> memory_;
  std::vector<Rows> ranges_;
  i64 capacity_ = 0, used_ = 0;
};

}  // namespace speedlight::cpu
