#include "repeats.h"
#include <algorithm>

namespace speedlight::cli {
namespace {

i64 q_bytes(const Problem& p) { return p.batch * p.seqlen_q * p.heads_q * p.head_dim * 2; }
i64 k_bytes(const Problem& p) { return p.batch * p.seqlen_k * p.heads_kv * p.head_dim * 2; }

std::vector<Range> results_of(const Problem& p, Pass pass, const Pointers& at) {
  if (pass == Pass::forward) return {{at.out, q_bytes(p)}, {at.lse, p.batch * p.heads_q * p.seqlen_q * 4}};
  return {{at.dq, q_bytes(p)}, {at.dk, k_bytes(p)}, {at.dv, k_bytes(p)}};
}

// A batch that begins at a later sequence of the same memory.
Pointers from_sequence(const Problem& p, Pointers at, i64 sequence) {
  const i64 q = q_bytes(p) / p.batch * sequence, k = k_bytes(p) / p.batch * sequence;
  const auto move = [](auto*& pointer, i64 bytes) {
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + std::uintptr_t(bytes));
  };
  move(at.q, q), move(at.k, k), move(at.v, k), move(at.dout, q), move(at.out, q), move(at.dq, q), move(at.dk, k), move(at.dv, k);
  move(at.lse, p.heads_q * p.seqlen_q * 4 * sequence);
  return at;
}

void copy_inputs(Machine& machine, const Problem& p, const Pointers& to, const Pointers& from) {
  const i64 q = q_bytes(p) / p.batch, k = k_bytes(p) / p.batch;
  const auto copy = [&](const void* into, const void* out_of, i64 bytes) { machine.copy(const_cast<void*>(into), out_of, bytes); };
  copy(to.q, from.q, q), copy(to.k, from.k, k), copy(to.v, from.v, k), copy(to.dout, from.dout, q);
}

}  // namespace

Repeats Repeater::repeat(const Problem& problem, Pass pass, const Pointers& at, const Enqueue& enqueue, int count) {
  const std::vector<Range> results = results_of(problem, pass, at);
  Repeats made{.count = count};
  const auto run = [&](int round) {
    for (const Range& range : results) machine_.fill(range.data, 0xff, range.bytes);
    machine_.fill(at.workspace, u8(0xff - 31 * round), at.workspace_bytes);
    return machine_.time(enqueue, 1);
  };
  run(0);
  made.alone_ms = run(0);
  const Digests expected = digester_.of(results);
  std::vector<double> times;
  for (int round = 1; round <= count; ++round) {
    load_.start(made.alone_ms * (0.3 + 0.2 * (round % 5)), round);
    times.push_back(run(round));
    made.different += digester_.of(results) != expected;
    load_.wait();
  }
  if (count > 0) made.loaded_ms = summary(std::move(times)).median_ms;
  return made;
}

Repeater::Digests Repeater::digests_of(const Problem& problem, Pass pass, const Pointers& at, i64 sequence) {
  std::vector<Range> results = results_of(problem, pass, at);
  for (Range& range : results) range = range.part(sequence, 1, problem.batch);
  return digester_.of(results);
}

BatchChange Repeater::change_batch(const Problem& problem, Pass pass, const Data& data, void* workspace, i64 workspace_bytes,
                                   const Run& run) {
  BatchChange made;
  const i64 last = problem.batch - 1;
  if (last < 1) return made;
  const Pointers own = data.pointers(workspace, workspace_bytes, 0), other = data.pointers(workspace, workspace_bytes, 1);
  const auto start = [&](i64 batch, const Pointers& at) {
    Problem part = problem;
    part.batch = batch;
    for (const Range& range : results_of(part, pass, at)) machine_.fill(range.data, 0xff, range.bytes);
    machine_.fill(workspace, 0xff, workspace_bytes);
    if (pass == Pass::backward) run(part, Pass::forward, at);
    run(part, pass, at);
    return part;
  };
  start(problem.batch, own);
  const Digests first_is = digests_of(problem, pass, own, 0), last_is = digests_of(problem, pass, own, last);
  const auto compare = [&](const char* what, const Problem& part, const Pointers& at, i64 sequence, const Digests& expected) {
    ++made.compared;
    if (digests_of(part, pass, at, sequence) != expected) made.faults.push_back(what);
  };
  for (const i64 batch : {i64(1), i64(2)}) {
    compare(batch == 1 ? "first alone" : "first of two", start(batch, own), own, 0, first_is);
    const Pointers end = from_sequence(problem, own, problem.batch - batch);
    compare(batch == 1 ? "last alone" : "last of two", start(batch, end), end, batch - 1, last_is);
  }
  copy_inputs(machine_, problem, from_sequence(problem, other, last), own);
  copy_inputs(machine_, problem, other, from_sequence(problem, own, last));
  start(problem.batch, other);
  compare("first, last among others", problem, other, last, first_is);
  compare("last, first among others", problem, other, 0, last_is);
  return made;
}

}  // namespace speedlight::cli
