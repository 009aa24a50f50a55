// Rows that `speedlight tune` measured on a user's own card: like the built-in tables, but text, and only for the card they came from.
//
// A row is a line: the config, then named values in this order,
//   fwd.bf16.d128.band.m256n64w8.s16x3.bulk.b1 target=sm_90 card="NVIDIA H200" walk=12 own=9 work=11 ms=1.234 machine="NVIDIA H200"
//   date=2026-01-31 commit=0123abc
// (one line). Empty lines and lines that begin with '#' do not count.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "plan/facts.h"
#include "plan/kernel.h"
#include "problem/problem.h"

namespace speedlight {

// Problems that one row serves: alike in how far a tile walks, how many positions it owns of a head, and how much work there is for each SM;
// each the nearest power of two (its logarithm), and capped where more makes no difference to the choice of a tile.
struct ProblemClass {
  int walk = 0, own = 0, work = 0;
  bool operator==(const ProblemClass&) const = default;
};
ProblemClass problem_class(const Problem& problem, Pass pass, const DeviceFacts& card);
// The longest walk of a class: what a row of the built-in tables calls `walk`.
i64 longest_walk(int walk_class);

struct TunedRow {
  KernelConfig config;  // ForwardConfig or BackwardConfig: pass, dtype, head dim and mask are its Spec's
  int target = 0;       // whose table it stands in for
  std::string card;     // DeviceFacts::name that it was planned for
  ProblemClass shape;
  double ms = 0;  // the problem that was measured
  std::string machine, date, commit;
};
std::string to_text(const TunedRow& row);
// Throws Error(invalid_argument) that shows the offending part.
TunedRow parse_tuned_row(std::string_view line);

struct UserTable {
  std::vector<TunedRow> rows;
};
// A row that cannot be read is left out; `fault` then says which line is the first such, why, and how many there are. Never throws.
UserTable parse_user_table(std::string_view text, std::string& fault);

// The row for a problem whose main kernel has `spec`: of this card and target, for any dtype, of the same class (or, when there is none, a
// walk one class away: the longer one first), with a config that is valid and that the card can run. Null when there is none.
const TunedRow* find_tuned(const UserTable& table, const Spec& spec, Pass pass, const ProblemClass& shape, const DeviceFacts& card);
// What PlannedLaunch::reason says.
std::string reason_of(const TunedRow& row);
// True when the rows were measured for the same thing, so that a new one replaces an old one.
bool same_place(const TunedRow& a, const TunedRow& b);

}  // namespace speedlight
