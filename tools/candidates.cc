#include "candidates.h"
#include <algorithm>
#include <array>
#include <functional>
#include "plan/tables.h"

namespace speedlight::cli {
namespace {

constexpr std::array targets{90, 120, 80};  // one for each table
constexpr size_t mutated = 2;               // the neighbours of so many rows of the card's own table are tried, most promising fields first

bool fits(const KernelConfig& config, int blocks, const DeviceFacts& card) {
  if (!runs_on(config, card.target) || shared_bytes(config) > card.shared_block) return false;
  const i64 shared = round_up<i64>(shared_bytes(config), 128) + card.shared_reserved;
  return blocks * shared <= card.shared_sm && blocks * threads(config) <= card.threads_sm;
}

ForwardConfig config_of(const Spec& spec, const ForwardTuning& tuning) { return {spec, tuning}; }
// Where nobody asks for an order, a tuning that finishes dQ adds in order nevertheless, as plan's `force` takes it.
BackwardConfig config_of(const Spec& spec, const BackwardTuning& tuning) {
  return plan::backward_config(spec, tuning, spec.determinism != Determinism::none);
}

constexpr int most_registers = 255;
constexpr int registers_for(int blocks, int warps) { return 65536 / (blocks * warps * 32); }

// A field's values, each as a function that sets it.
template <class T, class Field, class... Values>
std::vector<std::function<void(T&)>> each(Field T::*field, Values... values) {
  return {[=](T& t) { t.*field = Field(values); }...};
}

template <class Config>
class List {
 public:
  using Tuning = decltype(Config::tuning);
  List(const Spec& spec, const DeviceFacts& card) : spec_(spec), card_(card) {}
  void add(const Tuning& tuning) {
    const Config config = config_of(spec_, tuning);
    ++considered_;
    if (config.valid() && fits(config, tuning.blocks, card_) && std::ranges::find(valid_, tuning) == valid_.end()) valid_.push_back(tuning);
  }
  template <class Rows>
  void add_tables(Rows rows, Tuning (*suit)(Tuning, bool)) {
    const bool masked = spec_.mask == MaskKind::band, modern = card_.target >= 90;
    for (const Tuning& tuning : rows(card_.target, spec_.head_dim, masked)) add(tuning), own_.push_back(tuning);
    for (const int target : targets)
      for (const Tuning& tuning : rows(target, spec_.head_dim, masked)) add(suit(tuning, modern));
  }
  // Every change of every row that is mutated, change by change.
  void add_neighbours(std::initializer_list<void (*)(Tuning&)> changes) {
    for (const auto change : changes)
      for (size_t i = 0; i < std::min(mutated, own_.size()); ++i) {
        Tuning tuning = own_[i];
        change(tuning);
        add(tuning);
      }
  }
  // The product of what each of `fields` sets, and of the blocks an SM.
  void add_product(const std::vector<std::vector<std::function<void(Tuning&)>>>& fields) {
    std::vector<Tuning> product(1);
    for (const auto& values : fields) {
      std::vector<Tuning> longer;
      for (const Tuning& tuning : product)
        for (const auto& set : values) set(longer.emplace_back(tuning));
      product = std::move(longer);
    }
    for (Tuning& tuning : product)
      for (const int blocks : {1, 2, 3, 4}) {
        tuning.blocks = u8(blocks);
        const bool same_with_more = registers_for(blocks + 1, tuning.warps) >= most_registers;
        if (!same_with_more || !fits(config_of(spec_, tuning), blocks + 1, card_)) add(tuning);
      }
  }
  Candidates<Tuning> candidates() const { return {valid_, considered_}; }

 private:
  const Spec& spec_;
  const DeviceFacts& card_;
  std::vector<Tuning> valid_, own_;
  int considered_ = 0;
};

template <class T>
void twice(T& x) {
  x = T(x * 2);
}
template <class T>
void half(T& x) {
  x = T(x / 2);
}

}  // namespace

Candidates<ForwardTuning> forward_candidates(const Spec& spec, const DeviceFacts& card, Reach reach) {
  List<ForwardConfig> list(spec, card);
  using T = ForwardTuning;
  list.add_tables(forward_tunings, [](T t, bool modern) {
    t.copy = modern ? Copy::bulk : Copy::cp_async;
    return t;
  });
  if (reach == Reach::all) {
    list.add_product({each(&T::rows, 64, 128, 256), each(&T::warps, 2, 4, 8, 16), each(&T::keys, 32, 64, 128, 256),
                      each(&T::step, 16, 32, 64), each(&T::stages, 2, 3, 4), each(&T::overlap, false, true),
                      each(&T::copy, card.target >= 90 ? Copy::bulk : Copy::cp_async)});
    return list.candidates();
  }
  list.add_neighbours({
      [](T& t) { t.overlap = !t.overlap; },
      [](T& t) { half(t.keys); },
      [](T& t) { twice(t.keys); },
      [](T& t) { twice(t.step); },
      [](T& t) { half(t.step); },
      [](T& t) { ++t.stages; },
      [](T& t) { --t.stages; },
      [](T& t) { t.blocks = t.blocks == 1 ? 2 : 1; },
      [](T& t) { twice(t.warps); },
      [](T& t) { twice(t.keys), twice(t.step); },
      [](T& t) { twice(t.rows), twice(t.warps), t.blocks = 1; },
      [](T& t) { half(t.rows), half(t.warps), t.blocks = 2; },
      [](T& t) { t.copy = Copy::cp_async; },
  });
  return list.candidates();
}

Candidates<BackwardTuning> backward_candidates(const Spec& spec, const DeviceFacts& card, Reach reach) {
  List<BackwardConfig> list(spec, card);
  using T = BackwardTuning;
  list.add_tables(backward_tunings, [](T t, bool modern) {
    t.add = modern ? VectorAdd::v4 : VectorAdd::scalar;
    t.store = modern ? MatrixStore::stmatrix : MatrixStore::plain;
    return t;
  });
  if (reach == Reach::all) {
    const bool modern = card.target >= 90;
    list.add_product({each(&T::schedule, BackwardSchedule::single, BackwardSchedule::split), each(&T::rows, 32, 64),
                      each(&T::keys, 64, 128, 256), each(&T::warps, 4, 8), each(&T::chunks, 1, 2), each(&T::q_stages, 1, 2),
                      each(&T::do_stages, 1, 2), each(&T::v_registers, false, true), each(&T::finish, false, true),
                      each(&T::dq_warps_m, 1, 2, 4), each(&T::dq_warps_n, 1, 2, 4, 8), each(&T::bulk_loads, modern),
                      each(&T::add, modern ? VectorAdd::v4 : VectorAdd::scalar),
                      each(&T::store, modern ? MatrixStore::stmatrix : MatrixStore::plain)});
    return list.candidates();
  }
  list.add_neighbours({
      [](T& t) { t.finish = !t.finish; },
      [](T& t) { t.v_registers = !t.v_registers; },
      [](T& t) { t.chunks = t.chunks == 1 ? 2 : 1; },
      [](T& t) { t.q_stages = t.q_stages == 1 ? 2 : 1, t.do_stages = std::min(t.do_stages, t.q_stages); },
      [](T& t) { t.q_stages = t.do_stages = t.q_stages == 1 ? 2 : 1; },
      [](T& t) { t.rows = t.rows == 64 ? 32 : 64; },
      [](T& t) { t.rows = t.rows == 64 ? 32 : 64, t.chunks = 1; },
      [](T& t) { std::swap(t.dq_warps_m, t.dq_warps_n); },
      [](T& t) { twice(t.dq_warps_m), half(t.dq_warps_n); },
      [](T& t) { half(t.dq_warps_m), twice(t.dq_warps_n); },
      [](T& t) { t.bulk_loads = !t.bulk_loads; },
      [](T& t) { t.blocks = t.blocks == 1 ? 2 : 1; },
      [](T& t) { half(t.keys); },
      [](T& t) { twice(t.keys); },
      [](T& t) { twice(t.keys), twice(t.warps), twice(t.dq_warps_n), t.blocks = 1; },
      [](T& t) { half(t.keys), half(t.warps), half(t.dq_warps_n), t.blocks = 2; },
      [](T& t) { t.store = MatrixStore::plain; },
  });
  return list.candidates();
}

}  // namespace speedlight::cli
