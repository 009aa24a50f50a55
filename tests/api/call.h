// One attention call on the CPU with its memory: outputs poisoned and inside guard bands, so that a test can tell what was written.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "speedlight/speedlight.h"

namespace api_test {

constexpr unsigned char poison = 0xA5;
constexpr std::size_t guard_bytes = 256;

inline std::uint16_t bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float from_bf16(std::uint16_t value) {
  const std::uint32_t bits = std::uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

inline std::vector<std::uint16_t> random_bf16(std::size_t size, std::uint32_t seed) {
  std::vector<std::uint16_t> data(size);
  for (std::uint16_t& value : data) {
    seed = seed * 1664525u + 1013904223u;
    value = bf16(static_cast<float>(seed >> 8) / (1 << 23) - 1);
  }
  return data;
}

// Memory that a call writes.
class Output {
 public:
  explicit Output(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * guard_bytes, poison) {}
  unsigned char* data() { return memory_.data() + guard_bytes; }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(memory_.data() + guard_bytes);
  }
  std::size_t bytes() const { return bytes_; }
  bool untouched() const { return poisoned(0, memory_.size()); }
  bool guards_intact() const { return poisoned(0, guard_bytes) && poisoned(guard_bytes + bytes_, memory_.size()); }
  std::vector<unsigned char> content() const { return {memory_.begin() + guard_bytes, memory_.begin() + guard_bytes + bytes_}; }
  void reset() { std::fill(memory_.begin(), memory_.end(), poison); }

 private:
  bool poisoned(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; i++)
      if (memory_[i] != poison) return false;
    return true;
  }
  std::size_t bytes_;
  std::vector<unsigned char> memory_;
};

struct Shape {
  std::int64_t batch = 2, queries = 37, keys = 53, heads_q = 4, heads_kv = 2, dim = 64;
};

struct Call {
  speedlight_problem problem;
  speedlight_options options{};
  speedlight_tensors tensors{};
  std::vector<std::uint16_t> q, k, v, dout;
  Output out, lse, dq, dk, dv;

  explicit Call(Shape s = {})
      : q(random_bf16(s.batch * s.queries * s.heads_q * s.dim, 1)),
        k(random_bf16(s.batch * s.keys * s.heads_kv * s.dim, 2)),
        v(random_bf16(s.batch * s.keys * s.heads_kv * s.dim, 3)),
        dout(random_bf16(s.batch * s.queries * s.heads_q * s.dim, 4)),
        out(q.size() * 2),
        lse(s.batch * s.heads_q * s.queries * 4),
        dq(q.size() * 2),
        dk(k.size() * 2),
        dv(v.size() * 2) {
    speedlight_problem_init(&problem, sizeof problem, SPEEDLIGHT_BF16, s.batch, s.queries, s.keys, s.heads_q, s.heads_kv, s.dim);
    problem.mask = SPEEDLIGHT_MASK_CAUSAL;
    options.struct_size = sizeof options;
    options.device = SPEEDLIGHT_CPU;
    tensors.struct_size = sizeof tensors;
    tensors.q = q.data(), tensors.k = k.data(), tensors.v = v.data(), tensors.out = out.data();
    tensors.lse = reinterpret_cast<float*>(lse.data());
    tensors.dout = dout.data(), tensors.dq = dq.data(), tensors.dk = dk.data(), tensors.dv = dv.data();
  }

  speedlight_status forward() { return speedlight_attention_forward(&problem, &options, &tensors, nullptr, nullptr); }
  speedlight_status backward() { return speedlight_attention_backward(&problem, &options, &tensors, nullptr, nullptr); }
  bool gradients_untouched() const { return dq.untouched() && dk.untouched() && dv.untouched(); }
  bool outputs_untouched() const { return out.untouched() && lse.untouched() && gradients_untouched(); }
  bool guards_intact() const {
    return out.guards_intact() && lse.guards_intact() && dq.guards_intact() && dk.guards_intact() && dv.guards_intact();
  }
};

}  // namespace api_test
