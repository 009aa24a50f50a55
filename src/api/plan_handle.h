// What a speedlight_plan is inside: a Plan and the device it was made for. Immutable, so threads share it freely.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "api/convert.h"
#include "plan/plan.h"

struct speedlight_plan {
  speedlight::api::Target target;
  speedlight::Plan plan;  // for the CPU only pass and problem are set

  const std::string& text() const;  // made at the first call

 private:
  mutable std::once_flag text_made_;
  mutable std::string text_;
};

namespace speedlight::api {

using PlanHandle = std::shared_ptr<const speedlight_plan>;

// The caller has called validate(problem, pass) before it asked any device: a wrong problem is wrong everywhere.
std::unique_ptr<speedlight_plan> make_plan(const Problem& problem, Pass pass, const Target& target);
// The same, remembered: a small cache of the plans used last, for the calls that plan by themselves.
PlanHandle cached_plan(const Problem& problem, Pass pass, const Target& target);

void prepare(const speedlight_plan& plan);
void run(const speedlight_plan& plan, const Pointers& pointers, void* stream);

}  // namespace speedlight::api
