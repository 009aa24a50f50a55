#include "cpu/attention.h"

#include <new>

#include "cpu/passes.h"
#include "problem/error.h"

namespace speedlight::cpu {
namespace {

void run(const Problem& problem, const Pointers& pointers, Pass pass) {
  validate(problem, pass);
  Plan plan;  // of nothing but the problem: check_pointers is the one judge of pointers, here too
  plan.problem = problem;
  plan.pass = pass;
  check_pointers(plan, pointers);
  try {
    pass == Pass::forward ? run_forward(problem, pointers, kernels()) : run_backward(problem, pointers, kernels());
  } catch (const std::bad_alloc&) {
    throw Error(Status::out_of_memory, "the CPU backend could not allocate its tiles");
  }
}

}  // namespace

void forward(const Problem& problem, const Pointers& pointers) { run(problem, pointers, Pass::forward); }
void backward(const Problem& problem, const Pointers& pointers) { run(problem, pointers, Pass::backward); }

}  // namespace speedlight::cpu
