// The fields of every kernel config, listed once. Printing, parsing and the C++ initialiser are all derived from these lists, so no second
// list exists that could disagree with them. Adding a field means adding it to its struct and one line here.
//
// A visitor has
//   number(prefix, name, member)               always written, as prefix and a decimal number
//   number_unless(prefix, name, member, same)  written only where it differs from `same`, a field visited before
//   word(name, member)                         an enum: '.' and the enumerator's name; the first one is left out where EnumText says so
//   flag(name, member)                         '.' and the field's text when true
//   group(name, member)                        a nested struct
// The order is that of declaration, which is also the order of the text and of the designated initialiser.
#pragma once
#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include "plan/kernel.h"

namespace speedlight::plan {

template <class E>
struct EnumText;
template <>
struct EnumText<DType> {
  static constexpr std::string_view type = "DType";
  static constexpr std::array<std::string_view, 3> names{"fp16", "bf16", "fp32"};
  static constexpr bool first_is_silent = false;
};
template <>
struct EnumText<MaskKind> {
  static constexpr std::string_view type = "MaskKind";
  static constexpr std::array<std::string_view, 2> names{"none", "band"};
  static constexpr bool first_is_silent = false;
};
template <>
struct EnumText<Score> {
  static constexpr std::string_view type = "Score";
  static constexpr std::array<std::string_view, 1> names{"plain"};
  static constexpr bool first_is_silent = true;
};
template <>
struct EnumText<Determinism> {
  static constexpr std::string_view type = "Determinism";
  static constexpr std::array<std::string_view, 3> names{"none", "run_to_run", "batch_invariant"};
  static constexpr bool first_is_silent = true;
};
template <>
struct EnumText<Copy> {
  static constexpr std::string_view type = "Copy";
  static constexpr std::array<std::string_view, 2> names{"cp_async", "bulk"};
  static constexpr bool first_is_silent = false;
};
template <>
struct EnumText<VectorAdd> {
  static constexpr std::string_view type = "VectorAdd";
  static constexpr std::array<std::string_view, 2> names{"scalar", "v4"};
  static constexpr bool first_is_silent = false;
};
template <>
struct EnumText<MatrixStore> {
  static constexpr std::string_view type = "MatrixStore";
  static constexpr std::array<std::string_view, 2> names{"plain", "stmatrix"};
  static constexpr bool first_is_silent = false;
};
template <>
struct EnumText<BackwardSchedule> {
  static constexpr std::string_view type = "BackwardSchedule";
  static constexpr std::array<std::string_view, 2> names{"single", "split"};
  static constexpr bool first_is_silent = false;
};

template <class T, class S>
concept Is = std::same_as<std::remove_const_t<T>, S>;

// The part of a Spec that helper kernels read.
template <class V, Is<Spec> S>
void element_fields(V& v, S& s) {
  v.word("dtype", s.dtype);
  v.number(".d", "head_dim", s.head_dim);
  v.number_unless("v", "value_dim", s.value_dim, s.head_dim);
}

template <class V, Is<Spec> S>
void fields(V& v, S& s) {
  element_fields(v, s);
  v.word("mask", s.mask);
  v.word("score", s.score);
  v.word("determinism", s.determinism);
  v.flag("dropout", s.dropout);
}

template <class V, Is<ForwardTuning> T>
void fields(V& v, T& t) {
  v.number(".m", "rows", t.rows);
  v.number("n", "keys", t.keys);
  v.number("w", "warps", t.warps);
  v.number(".s", "step", t.step);
  v.number("x", "stages", t.stages);
  v.word("copy", t.copy);
  v.flag("overlap", t.overlap);
  v.number(".b", "blocks", t.blocks);
}

template <class V, Is<BackwardTuning> T>
void fields(V& v, T& t) {
  v.word("schedule", t.schedule);
  v.number(".m", "rows", t.rows);
  v.number("n", "keys", t.keys);
  v.number("w", "warps", t.warps);
  v.number(".c", "chunks", t.chunks);
  v.number(".q", "q_stages", t.q_stages);
  v.number("o", "do_stages", t.do_stages);
  v.flag("v_registers", t.v_registers);
  v.flag("bulk_loads", t.bulk_loads);
  v.flag("finish", t.finish);
  v.number(".dq", "dq_warps_m", t.dq_warps_m);
  v.number("x", "dq_warps_n", t.dq_warps_n);
  v.word("add", t.add);
  v.word("store", t.store);
  v.number(".b", "blocks", t.blocks);
}

template <class V, Is<DqLayout> T>
void fields(V& v, T& t) {
  v.number(".m", "rows", t.rows);
  v.number("n", "cols", t.cols);
  v.number(".dq", "warps_m", t.warps_m);
  v.number("x", "warps_n", t.warps_n);
}

template <class V, class T>
requires Is<T, ForwardConfig> || Is<T, BackwardConfig>
void fields(V& v, T& c) {
  v.group("spec", c.spec, [](auto& w, auto& s) { fields(w, s); });
  v.group("tuning", c.tuning, [](auto& w, auto& t) { fields(w, t); });
}
template <class V, Is<PreprocessConfig> T>
void fields(V& v, T& c) {
  v.group("spec", c.spec, [](auto& w, auto& s) { element_fields(w, s); });
}
template <class V, Is<PostprocessConfig> T>
void fields(V& v, T& c) {
  v.group("spec", c.spec, [](auto& w, auto& s) { element_fields(w, s); });
  v.group("layout", c.layout, [](auto& w, auto& l) { fields(w, l); });
}
template <class V, Is<PackConfig> T>
void fields(V& v, T& c) {
  v.number(".e", "element_bytes", c.element_bytes);
}
template <class V, Is<ReferenceConfig> T>
void fields(V& v, T& c) {
  v.group("spec", c.spec, [](auto& w, auto& s) { element_fields(w, s); });
  v.flag("backward", c.backward);
}

template <class V, Is<CeilingConfig> T>
void fields(V& v, T& c) {
  v.word("dtype", c.dtype);
}
template <class V, Is<DigestConfig> T>
void fields(V&, T&) {}

// What belongs to a kernel as a whole.
template <class C>
struct KernelText;
template <>
struct KernelText<ForwardConfig> {
  static constexpr std::string_view tag = "fwd", type = "ForwardConfig", entry = "forward", params = "ForwardParams";
};
template <>
struct KernelText<PreprocessConfig> {
  static constexpr std::string_view tag = "bwd_pre", type = "PreprocessConfig", entry = "backward_preprocess", params = "BackwardParams";
};
template <>
struct KernelText<BackwardConfig> {
  static constexpr std::string_view tag = "bwd", type = "BackwardConfig", entry = "backward", params = "BackwardParams";
};
template <>
struct KernelText<PostprocessConfig> {
  static constexpr std::string_view tag = "bwd_post", type = "PostprocessConfig", entry = "backward_postprocess", params = "BackwardParams";
};
template <>
struct KernelText<PackConfig> {
  static constexpr std::string_view tag = "pack", type = "PackConfig", entry = "pack", params = "PackParams";
};
template <>
struct KernelText<ReferenceConfig> {
  static constexpr std::string_view tag = "ref", type = "ReferenceConfig", entry = "reference", params = "ReferenceParams";
};
template <>
struct KernelText<CeilingConfig> {
  static constexpr std::string_view tag = "ceiling", type = "CeilingConfig", entry = "ceiling", params = "CeilingParams";
};
template <>
struct KernelText<DigestConfig> {
  static constexpr std::string_view tag = "digest", type = "DigestConfig", entry = "digest", params = "DigestParams";
};

}  // namespace speedlight::plan
