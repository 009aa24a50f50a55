#include "planned/sweep.h"

#include "planned/pairwise.h"

namespace speedlight::emulator {
namespace {

// A config and the numbers of its fields' values.
template <class C>
struct Candidate {
  C config;
  Levels levels;
};
template <class C>
using Candidates = std::vector<Candidate<C>>;

// Every candidate with each of the values.
template <class C, class Value, class Set>
void vary(Candidates<C>& list, const std::vector<Value>& values, Set set) {
  Candidates<C> longer;
  for (const Candidate<C>& from : list)
    for (std::size_t i = 0; i < values.size(); ++i) {
      longer.push_back(from);
      set(longer.back().config, values[i]);
      longer.back().levels.push_back(i32(i));
    }
  list = std::move(longer);
}

template <class C>
void keep_valid(Candidates<C>& list) {
  std::erase_if(list, [](const Candidate<C>& c) { return !c.config.valid() || !runs_on(c.config, 90); });
}

// Specs are one factor, so that each meets every value; dtypes are one of their own, or with `whole` a part of the Spec.
template <class C>
void vary_specs(Candidates<C>& list, bool whole, bool backward) {
  std::vector<Spec> specs;
  for (const u16 dim : {u16(64), u16(128)})
    for (const MaskKind mask : {MaskKind::none, MaskKind::band})
      for (const Determinism how : {Determinism::none, Determinism::run_to_run}) {
        if (how != Determinism::none && !backward) continue;
        specs.push_back({.dtype = DType::bf16, .head_dim = dim, .value_dim = dim, .mask = mask, .determinism = how});
        if (whole) specs.push_back(specs.back()), specs.back().dtype = DType::fp16;
      }
  vary(list, specs, [](C& c, const Spec& spec) { c.spec = spec; });
  if (!whole) vary(list, std::vector{DType::bf16, DType::fp16}, [](C& c, DType dtype) { c.spec.dtype = dtype; });
  keep_valid(list);
}

Candidates<ForwardConfig> forward_candidates(bool more) {
  using C = ForwardConfig;
  using Numbers = std::vector<int>;
  Candidates<C> list(1);
  vary(list, more ? Numbers{32, 64, 128, 256} : Numbers{64, 128, 256}, [](C& c, int n) { c.tuning.rows = u16(n); });
  vary(list, more ? Numbers{1, 2, 4, 8, 16} : Numbers{2, 4, 8}, [](C& c, int n) { c.tuning.warps = u8(n); });
  vary(list, more ? Numbers{16, 32, 64, 128, 256} : Numbers{32, 64, 128}, [](C& c, int n) { c.tuning.keys = u16(n); });
  vary(list, Numbers{16, 32, 64}, [](C& c, int n) { c.tuning.step = u8(n); });
  vary(list, more ? Numbers{2, 3, 4, 8} : Numbers{2, 3, 4}, [](C& c, int n) { c.tuning.stages = u8(n); });
  keep_valid(list);
  vary(list, std::vector{Copy::cp_async, Copy::bulk}, [](C& c, Copy copy) { c.tuning.copy = copy; });
  vary(list, std::vector{false, true}, [](C& c, bool overlap) { c.tuning.overlap = overlap; });
  vary_specs(list, more, false);
  return list;
}

Candidates<BackwardConfig> backward_candidates(bool more) {
  using C = BackwardConfig;
  using Numbers = std::vector<int>;
  Candidates<C> list(1);
  vary(list, std::vector{BackwardSchedule::single, BackwardSchedule::split}, [](C& c, BackwardSchedule how) { c.tuning.schedule = how; });
  vary(list, Numbers{32, 64}, [](C& c, int n) { c.tuning.rows = u16(n); });
  vary(list, more ? Numbers{64, 128, 256} : Numbers{64, 128}, [](C& c, int n) { c.tuning.keys = u16(n); });
  vary(list, Numbers{4, 8}, [](C& c, int n) { c.tuning.warps = u8(n); });
  vary(list, Numbers{1, 2}, [](C& c, int n) { c.tuning.chunks = u8(n); });
  vary(list, Numbers{1, 2}, [](C& c, int n) { c.tuning.q_stages = u8(n); });
  vary(list, Numbers{1, 2}, [](C& c, int n) { c.tuning.do_stages = u8(n); });
  vary(list, std::vector{false, true}, [](C& c, bool b) { c.tuning.v_registers = b; });
  vary(list, std::vector{false, true}, [](C& c, bool b) { c.tuning.bulk_loads = b; });
  vary(list, Numbers{1, 2, 4}, [](C& c, int n) { c.tuning.dq_warps_m = u8(n); });
  vary(list, Numbers{1, 2, 4, 8}, [](C& c, int n) { c.tuning.dq_warps_n = u8(n); });
  keep_valid(list);
  vary(list, std::vector{VectorAdd::scalar, VectorAdd::v4}, [](C& c, VectorAdd add) { c.tuning.add = add; });
  vary(list, std::vector{MatrixStore::plain, MatrixStore::stmatrix}, [](C& c, MatrixStore store) { c.tuning.store = store; });
  vary(list, std::vector{false, true}, [](C& c, bool b) { c.tuning.finish = b; });
  vary_specs(list, more, true);
  return list;
}

template <class C>
void choose(std::vector<KernelConfig>& chosen, const Candidates<C>& list, u64 seed) {
  std::vector<Levels> levels;
  for (const Candidate<C>& c : list) levels.push_back(c.levels);
  for (const std::size_t i : pairwise(levels, seed, 1)) chosen.push_back(list[i].config);
}

}  // namespace

std::vector<KernelConfig> sweep(Sweep which) {
  const bool more = which == Sweep::more;
  std::vector<KernelConfig> chosen;
  for (u64 seed = 1; seed <= (more ? 2 : 1); ++seed) {
    choose(chosen, forward_candidates(more), seed);
    choose(chosen, backward_candidates(more), seed);
  }
  return chosen;
}

}  // namespace speedlight::emulator
