// Fixed-width integers for code that both the host compiler and NVRTC read (NVRTC has no <cstdint>).
#pragma once
#ifdef __CUDACC_RTC__
namespace speedlight {
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
}  // namespace speedlight
#else
#include <cstdint>
namespace speedlight {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
}  // namespace speedlight
#endif

namespace speedlight {
template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <class T>
constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}
template <class T>
constexpr T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}
}  // namespace speedlight
