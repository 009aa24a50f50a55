#include <algorithm>
#include "plan/choose.h"
#include "plan/plan.h"

namespace speedlight {
namespace {

using namespace plan;

constexpr DType dtypes[] = {DType::fp16, DType::bf16};
constexpr MaskKind masks[] = {MaskKind::none, MaskKind::band};

void add(std::vector<KernelConfig>& list, const KernelConfig& config) {
  if (std::ranges::find(list, config) == list.end()) list.push_back(config);
}

// A row for problems that ask for an order may stand before one of the same tile, which then serves the others only.
bool serves_ordered(const BackwardTuning& tuning, int target, int head_dim, bool masked) {
  for (const BackwardRow& row : tables_for(target).backward) {
    if (!row.takes(head_dim, masked, 0, true)) continue;
    if (row.tuning == tuning) return true;
    if (row.walk == any_length && tile_of(row.tuning) == tile_of(tuning)) return false;
  }
  return false;
}

template <class T>
std::vector<T> tunings(std::span<const Row<T>> rows, int head_dim, bool masked) {
  std::vector<T> list;
  for (const Row<T>& row : rows)
    if (row.takes(head_dim, masked, 0, true) && std::ranges::find(list, row.tuning) == list.end()) list.push_back(row.tuning);
  return list;
}

}  // namespace

std::vector<ForwardTuning> forward_tunings(int target, int head_dim, bool masked) {
  return tunings(tables_for(target).forward, head_dim, masked);
}

std::vector<BackwardTuning> backward_tunings(int target, int head_dim, bool masked) {
  return tunings(tables_for(target).backward, head_dim, masked);
}

std::vector<KernelConfig> shipped_configs(int target) {
  std::vector<KernelConfig> list;
  for (const DType dtype : dtypes)
    for (const u16 dim : {u16(64), u16(128)}) {
      const Spec elements = spec_for(dtype, dim, MaskKind::none);
      for (const MaskKind mask : masks) {
        const Spec spec = spec_for(dtype, dim, mask);
        for (const ForwardTuning& tuning : forward_tunings(target, dim, mask == MaskKind::band)) add(list, ForwardConfig{spec, tuning});
        for (const BackwardTuning& tuning : backward_tunings(target, dim, mask == MaskKind::band)) {
          add(list, backward_config_without_dq(spec, tuning));
          add(list, backward_config(spec, tuning, false));
          if (serves_ordered(tuning, target, dim, mask == MaskKind::band)) add(list, backward_config(spec, tuning, true));
          add(list, PostprocessConfig{elements, backward_config_without_dq(spec, tuning).dq_layout()});
        }
      }
      add(list, PreprocessConfig{elements});
      for (const bool backward : {false, true}) add(list, ReferenceConfig{elements, backward});
    }
  for (const u8 element_bytes : {u8(2), u8(4)}) add(list, PackConfig{element_bytes});
  add(list, CeilingConfig{}), add(list, DigestConfig{});
  return list;
}

}  // namespace speedlight
