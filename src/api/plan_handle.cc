#include "api/plan_handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cpu/attention.h"
#include "problem/error.h"
#include "store/tuned_file.h"

const std::string& speedlight_plan::text() const {
  using speedlight::Pass;
  std::call_once(text_made_, [this] {
    const speedlight::Problem& p = plan.problem;
    text_ = target.cuda ? explain(plan)
                        : fmt::format("{} on the CPU: batch {}, heads {}/{}, seqlen {}/{}, head dim {}; all cores, no workspace\n",
                                      plan.pass == Pass::forward ? "forward" : "backward", p.batch, p.heads_q, p.heads_kv, p.seqlen_q,
                                      p.seqlen_k, p.head_dim);
  });
  return text_;
}

namespace speedlight::api {
namespace {

DeviceFacts facts_of(const Target& target) {
  if (target.card.empty()) return gpu::device_facts(target.ordinal);
  if (const auto card = find_card(target.card)) return *card;
  std::string names;
  for (const DeviceFacts& card : known_cards()) names += (names.empty() ? "" : ", ") + card.name;
  throw Error(Status::unknown_device, fmt::format("card is \"{}\"; known cards: {}", target.card, names));
}

class PlanCache {
 public:
  PlanHandle find(const Problem& problem, Pass pass, const Target& target) {
    const std::lock_guard lock(mutex_);
    const auto hit = std::find_if(plans_.begin(), plans_.end(), [&](const PlanHandle& held) {
      return held->plan.pass == pass && held->target == target && held->plan.problem == problem;
    });
    if (hit == plans_.end()) return nullptr;
    std::rotate(plans_.begin(), hit, hit + 1);  // last used comes first
    return plans_.front();
  }

  void keep(PlanHandle plan) {
    const std::lock_guard lock(mutex_);
    plans_.insert(plans_.begin(), std::move(plan));
    if (plans_.size() > capacity) plans_.pop_back();
  }

 private:
  static constexpr std::size_t capacity = 64;  // a training step uses a few; a search of 64 costs under a microsecond
  std::mutex mutex_;
  std::vector<PlanHandle> plans_;
};

PlanCache& cache() {
  static PlanCache& instance = *new PlanCache;  // never destroyed: calls may come while the process ends
  return instance;
}

}  // namespace

std::unique_ptr<speedlight_plan> make_plan(const Problem& problem, Pass pass, const Target& target) {
  auto handle = std::make_unique<speedlight_plan>();
  handle->target = target;
  if (target.cuda) {
    const DeviceFacts facts = facts_of(target);
    handle->plan = pass == Pass::forward ? plan_forward(problem, facts, nullptr, tuned_table())
                                         : plan_backward(problem, facts, nullptr, tuned_table());
  } else {
    handle->plan.pass = pass;
    handle->plan.problem = problem;
  }
  return handle;
}

PlanHandle cached_plan(const Problem& problem, Pass pass, const Target& target) {
  PlanHandle plan = cache().find(problem, pass, target);
  if (!plan) {
    plan = make_plan(problem, pass, target);
    cache().keep(plan);
  }
  return plan;
}

void prepare(const speedlight_plan& plan) {
  if (plan.target.cuda) gpu::prepare(plan.plan, plan.target.ordinal);
}

void run(const speedlight_plan& plan, const Pointers& pointers, void* stream) {
  if (plan.target.cuda) {
    gpu::launch(plan.plan, pointers, plan.target.ordinal, stream);
    return;
  }
  if (stream) throw Error(Status::invalid_argument, "stream is not NULL; the CPU has no streams, allowed: NULL");
  check_pointers(plan.plan, pointers);
  if (plan.plan.pass == Pass::forward) {
    cpu::forward(plan.plan.problem, pointers);
  } else {
    cpu::backward(plan.plan.problem, pointers);
  }
}

}  // namespace speedlight::api
