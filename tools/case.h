// One attention problem with data in memory: what smoke, verify and bench share.
#pragma once
#include <random>
#include <string>
#include <vector>
#include "gpu/device.h"
#include "problem/problem.h"

namespace speedlight::cli {

// A problem and how its data is made; the same case gives the same bytes everywhere.
struct Case {
  Problem problem;
  u64 seed = 0;
  float outlier = 1;    // every 37th row of q and k is scaled by this
  float shift = 0;      // not 0: channel 0 of q is 16, channel 0 of k is this, so that logits are far from 0
  bool loss = false;    // dout and dlse are the gradients of mean(out^2) + 1e-3 mean(lse^2), made from the forward's own results
  std::string special;  // what the generator did on purpose, for the histogram and the report
  std::string text() const;
};

// All tensors of a case in one block of memory, each between guard bands; guards, gaps between rows, outputs and workspace start as NaNs.
class Arena {
 public:
  Arena(const Case& c, i64 workspace_bytes);

  const std::vector<u8>& bytes() const { return bytes_; }
  // Pointers of the call when the arena's bytes lie at `base` (16-byte aligned to 256).
  Pointers pointers(void* base) const;
  // Writes the gradients of Case::loss, from the out and lse in `after`, over dout and dlse.
  void write_loss_gradients(const std::vector<u8>& after);
  // `after`: the same bytes when the calls are done. Empty when inputs, gaps and guard bands are untouched; else the first thing that is not.
  std::string damage(const std::vector<u8>& after) const;

 private:
  struct Block {
    const char* name;
    TensorLayout layout;
    i64 batch, rows, heads, dim;
    i64 offset;  // of element (0, 0, 0, 0)
    bool output;
  };
  void place(const char* name, const TensorLayout& layout, i64 batch, i64 rows, i64 heads, i64 dim, bool output);
  const Block* find(const char* name) const;
  void fill(const Block& block, const Case& c);
  template <class Visit>
  static void visit(const Block& block, Visit visit);  // visit(batch, row, head, byte offset of the row's first element)

  std::vector<Block> blocks_;
  std::vector<u8> bytes_;
  std::vector<bool> writable_;  // a byte that the calls may change, by 2-byte unit
  i64 size_ = 0, workspace_ = 0, workspace_bytes_ = 0;
};

// Bytes from element (0, 0, 0, 0) to past the last element.
i64 extent_bytes(const TensorLayout& layout, i64 batch, i64 rows, i64 heads, i64 dim);

}  // namespace speedlight::cli
