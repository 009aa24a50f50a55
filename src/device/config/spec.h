// Spec: the part of a kernel's configuration that changes results. Read by host planning and by NVRTC.
#pragma once
#include "base/types.h"

namespace speedlight {

enum class DType : u8 { fp16, bf16, fp32 };
enum class MaskKind : u8 { none, band };
enum class Score : u8 { plain };  // score modification (softcap, bias, a user's code) comes here
enum class Determinism : u8 { none, run_to_run, batch_invariant };

constexpr i64 size_of(DType t) { return t == DType::fp32 ? 4 : 2; }

struct Spec {
  DType dtype = DType::bf16;  // of q, k, v and dO: fp16 or bf16
  u16 head_dim = 128;         // bucket of q, k: 64 or 128
  u16 value_dim = 128;        // bucket of v, o
  MaskKind mask = MaskKind::none;
  Score score = Score::plain;
  Determinism determinism = Determinism::none;
  bool dropout = false;
  constexpr bool operator==(const Spec&) const = default;
};

// The instructions that a target adds to sm_80; a Tuning field that uses one is valid only where it exists.
enum class Copy : u8 { cp_async, bulk };          // bulk tensor copies (TMA) with mbarriers: sm_90 on
enum class VectorAdd : u8 { scalar, v4 };         // red.global.add.v4.f32: sm_90 on
enum class MatrixStore : u8 { plain, stmatrix };  // stmatrix: sm_90 on

}  // namespace speedlight
