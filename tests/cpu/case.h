// A problem with its tensors in memory: random inputs, poisoned outputs, any strides; run on the CPU backend and judged against float64.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cpu/compare.h"
#include "cpu/element.h"
#include "cpu/passes.h"

namespace speedlight::test {

enum class Strides { contiguous, padded, heads_first, odd, broadcast };  // broadcast: inputs only, outputs are then contiguous

struct Options {
  i64 batch = 2, heads_q = 4, heads_kv = 2, seqlen_q = 64, seqlen_k = 64, head_dim = 64, value_dim = 64;
  DType dtype = DType::bf16;
  DType out = DType::bf16, gradients = DType::bf16;  // bf16 stands for "the same as dtype"
  float scale = 0.125f;
  Window window = {};
  bool dlse = false;
  Strides strides = Strides::contiguous;
  bool want_dq = true, want_dk = true, want_dv = true, want_lse = true;
  int seed = 1;
};

inline const Window causal{Window::unlimited, 0};

// A tensor in memory of its own, with a poisoned gap before, between and after its rows.
class Buffer {
 public:
  Buffer() = default;
  Buffer(DType dtype, i64 batch, i64 rows, i64 heads, i64 dim, Strides strides, bool input)
      : layout(contiguous(dtype, rows, heads, dim)), batch_(batch), rows_(rows), heads_(heads), dim_(dim) {
    if (strides == Strides::padded) layout = {dtype, (rows + 1) * (heads + 1) * (dim + 8), (heads + 1) * (dim + 8), dim + 8, 16};
    if (strides == Strides::heads_first) layout = {dtype, heads * rows * dim, dim, rows * dim, 16};
    if (strides == Strides::odd) layout = {dtype, rows * (heads * (dim + 3) + 5) + 1, heads * (dim + 3) + 5, dim + 3, 2}, offset_ = 1;
    if (strides == Strides::broadcast && input) layout = {dtype, 0, dim, 0, 16};
    layout.alignment = u32(strides == Strides::odd ? size_of(dtype) : 16);
    const i64 last =
        layout.batch * std::max<i64>(batch - 1, 0) + layout.row * std::max<i64>(rows - 1, 0) + layout.head * std::max<i64>(heads - 1, 0);
    memory_.assign(size_t((offset_ + last + dim + 8) * size_of(dtype)), 0xff);
  }
  void* data() { return memory_.data() + offset_ * size_of(layout.dtype); }
  float get(i64 b, i64 row, i64 h, i64 d) { return read_element(data(), index(b, row, h, d), layout.dtype); }
  void set(i64 b, i64 row, i64 h, i64 d, float value) { write_element(data(), index(b, row, h, d), layout.dtype, value); }
  // f(batch, row, head, d) for every element.
  void each(const std::function<void(i64, i64, i64, i64)>& f) const {
    for (i64 b = 0; b < batch_; ++b)
      for (i64 row = 0; row < rows_; ++row)
        for (i64 h = 0; h < heads_; ++h)
          for (i64 d = 0; d < dim_; ++d) f(b, row, h, d);
  }
  void fill(const std::function<float()>& next) {
    each([&](i64 b, i64 row, i64 h, i64 d) { set(b, row, h, d, next()); });
  }
  // True when every byte that belongs to no element still holds the poison.
  bool gaps_untouched() {
    std::vector<bool> owned(memory_.size());
    each([&](i64 b, i64 row, i64 h, i64 d) {
      for (i64 byte = 0; byte < size_of(layout.dtype); ++byte)
        owned[size_t((offset_ + index(b, row, h, d)) * size_of(layout.dtype) + byte)] = true;
    });
    for (size_t i = 0; i < memory_.size(); ++i)
      if (!owned[i] && memory_[i] != 0xff) return false;
    return true;
  }
  const std::vector<unsigned char>& bytes() const { return memory_; }

  TensorLayout layout;

 private:
  i64 index(i64 b, i64 row, i64 h, i64 d) const { return b * layout.batch + row * layout.row + h * layout.head + d; }
  i64 batch_ = 0, rows_ = 0, heads_ = 0, dim_ = 0, offset_ = 0;
  std::vector<unsigned char> memory_;
};

struct Case {
  Problem p;
  Buffer q, k, v, out, dout, dq, dk, dv;
  std::vector<float> lse, dlse;

  explicit Case(const Options& o) {
    const DType out_type = o.out == DType::fp32 ? DType::fp32 : o.dtype, gradient_type = o.gradients == DType::fp32 ? DType::fp32 : o.dtype;
    q = Buffer(o.dtype, o.batch, o.seqlen_q, o.heads_q, o.head_dim, o.strides, true);
    k = Buffer(o.dtype, o.batch, o.seqlen_k, o.heads_kv, o.head_dim, o.strides, true);
    v = Buffer(o.dtype, o.batch, o.seqlen_k, o.heads_kv, o.value_dim, o.strides, true);
    out = Buffer(out_type, o.batch, o.seqlen_q, o.heads_q, o.value_dim, o.strides, false);
    dout = Buffer(o.dtype, o.batch, o.seqlen_q, o.heads_q, o.value_dim, o.strides, true);
    dq = Buffer(gradient_type, o.batch, o.seqlen_q, o.heads_q, o.head_dim, o.strides, false);
    dk = Buffer(gradient_type, o.batch, o.seqlen_k, o.heads_kv, o.head_dim, o.strides, false);
    dv = Buffer(gradient_type, o.batch, o.seqlen_k, o.heads_kv, o.value_dim, o.strides, false);
    lse.assign(size_t(o.batch * o.heads_q * o.seqlen_q), std::nanf(""));
    p.batch = o.batch, p.heads_q = o.heads_q, p.heads_kv = o.heads_kv, p.seqlen_q = o.seqlen_q, p.seqlen_k = o.seqlen_k;
    p.head_dim = o.head_dim, p.value_dim = o.value_dim, p.dtype = o.dtype, p.scale = o.scale, p.window = o.window;
    p.q = q.layout, p.k = k.layout, p.v = v.layout, p.out = out.layout;
    p.dout = dout.layout, p.dq = dq.layout, p.dk = dk.layout, p.dv = dv.layout;
    p.want_dq = o.want_dq, p.want_dk = o.want_dk, p.want_dv = o.want_dv, p.want_lse = o.want_lse, p.has_dlse = o.dlse;
    std::mt19937 random(static_cast<unsigned>(o.seed));
    std::normal_distribution<float> normal;
    for (Buffer* tensor : {&q, &k, &v, &dout}) tensor->fill([&] { return normal(random); });
    if (o.dlse)
      for (size_t i = 0; i < lse.size(); ++i) dlse.push_back(normal(random));
  }

  Pointers pointers() {
    Pointers x;
    x.q = q.data(), x.k = k.data(), x.v = v.data(), x.out = out.data(), x.dout = dout.data();
    x.dq = p.want_dq ? dq.data() : nullptr, x.dk = p.want_dk ? dk.data() : nullptr, x.dv = p.want_dv ? dv.data() : nullptr;
    x.lse = lse.data(), x.dlse = p.has_dlse ? dlse.data() : nullptr;
    return x;
  }

  void run(const cpu::Kernels& kernels = cpu::kernels()) {
    cpu::run_forward(p, pointers(), kernels);
    cpu::run_backward(p, pointers(), kernels);
  }

  // Forward, backward, and everything compared with float64; outputs' gaps and unwanted gradients must be as before.
  testing::AssertionResult correct(const cpu::Kernels& kernels = cpu::kernels()) {
    run(kernels);
    const auto exact = reference::compute(p, pointers(), true, reference::Arithmetic::float64);
    const auto plain = reference::compute(p, pointers(), true, reference::Arithmetic::plain);
    const auto forward = reference::compare(p, pointers(), exact, plain, false),
               backward = reference::compare(p, pointers(), exact, plain, true);
    if (!forward.pass || !backward.pass) return testing::AssertionFailure() << describe() << "\n" << forward.text() << backward.text();
    const auto untouched = [](const Buffer& b) {
      return std::all_of(b.bytes().begin(), b.bytes().end(), [](unsigned char x) { return x == 0xff; });
    };
    for (Buffer* tensor : {&out, &dq, &dk, &dv})
      if (!tensor->gaps_untouched()) return testing::AssertionFailure() << describe() << ": wrote outside of a tensor";
    if ((!p.want_dq && !untouched(dq)) || (!p.want_dk && !untouched(dk)) || (!p.want_dv && !untouched(dv)))
      return testing::AssertionFailure() << describe() << ": wrote an unwanted gradient";
    return testing::AssertionSuccess();
  }

  std::string describe() const {
    const auto number = [](i64 x) { return std::to_string(x); };
    const auto end = [](i64 x) { return x == Window::unlimited ? std::string("none") : std::to_string(x); };
    return std::string(p.dtype == DType::bf16 ? "bf16" : "fp16") + " B" + number(p.batch) + " H" + number(p.heads_q) + "/" +
           number(p.heads_kv) + " S" + number(p.seqlen_q) + "x" + number(p.seqlen_k) + " D" + number(p.head_dim) + "/" +
           number(p.value_dim) + " window " + end(p.window.left) + "," + end(p.window.right) + " scale " + std::to_string(p.scale);
  }
};

}  // namespace speedlight::test
