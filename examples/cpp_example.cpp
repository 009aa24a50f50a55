// Attention forward and backward from C++17, checked by what softmax must do: rows of P sum to one.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "speedlight/speedlight.hpp"

namespace {

using speedlight::Attention, speedlight::Device, speedlight::DType, speedlight::Mask, speedlight::Tensor;

std::uint16_t to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::vector<std::uint16_t> waves(std::size_t size, float frequency) {
  std::vector<std::uint16_t> data(size);
  for (std::size_t i = 0; i < size; i++) data[i] = to_bf16(std::sin(frequency * static_cast<float>(i)));
  return data;
}

int run(const Device& device) {
  const std::int64_t batch = 1, queries = 200, keys = 300, heads = 4, dim = 128;
  const auto elements = [&](std::int64_t rows) { return static_cast<std::size_t>(batch * rows * heads * dim); };
  const auto q = waves(elements(queries), 0.37f), k = waves(elements(keys), 0.11f);
  const std::vector<std::uint16_t> ones(elements(keys), to_bf16(1)), dout = waves(elements(queries), 0.53f);
  std::vector<float> out(elements(queries)), lse(batch * heads * queries), dq(elements(queries)), dv(elements(keys));

  // values are all one, so the output must be one, and dq zero; outputs and gradients may be fp32
  Attention call;
  call.q = Tensor(q.data(), DType::bf16, {batch, queries, heads, dim});
  call.k = Tensor(k.data(), DType::bf16, {batch, keys, heads, dim});
  call.v = Tensor(ones.data(), DType::bf16, {batch, keys, heads, dim});
  call.out = Tensor(out.data(), DType::fp32, {batch, queries, heads, dim});
  call.lse = lse.data();
  call.mask = Mask::causal();
  speedlight::forward(call, device);

  call.dout = Tensor(dout.data(), DType::bf16, {batch, queries, heads, dim});
  call.dq = Tensor(dq.data(), DType::fp32, {batch, queries, heads, dim});
  call.dv = Tensor(dv.data(), DType::fp32, {batch, keys, heads, dim});
  speedlight::backward(call, device);

  float out_error = 0, dq_error = 0;
  for (const float value : out) out_error = std::max(out_error, std::abs(value - 1));
  for (const float value : dq) dq_error = std::max(dq_error, std::abs(value));
  std::printf("max |out - 1| %.2g, max |dq| %.2g, lse[0] %.4f, dv[0] %.4f\n", out_error, dq_error, lse[0], dv[0]);
  return out_error < 0.01f && dq_error < 0.05f ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run(Device::cpu());
  } catch (const speedlight::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
