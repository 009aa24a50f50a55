#include <utility>
#include "config/backward_grid.h"
#include "plan/parts.h"
#include "plan/user_table.h"

namespace speedlight {
namespace {

using namespace plan;

// Ordered adds may wait for any key tile of their head where twice a head's blocks fit the card together (device/attention/dq_order.h).
bool may_walk_cyclic(const BackwardConfig& config, const DeviceFacts& card, i64 k_tiles) {
  return config.ordered() && config.spec.mask == MaskKind::none && 2 * k_tiles <= i64(card.sms) * config.tuning.blocks;
}

// How many query rows, of all query heads of its group, a tile of keys walks past on the average.
i64 walk_of(const Problem& p) {
  return p.seqlen_k == 0 ? 0 : ceil_div(visible_pairs(p.seqlen_q, p.seqlen_k, p.window) * (p.heads_q / p.heads_kv), p.seqlen_k);
}

BackwardConfig choose_config(const Problem& p, const DeviceFacts& card, const BackwardTuning* force, const UserTable* user,
                             std::string& reason) {
  const MaskKind mask = mask_of(p);
  const Spec spec = spec_for(p.dtype, u16(p.head_dim), mask);
  // dK and dV are summed in a fixed order anyway; dQ is where adds meet. The order depends on no other sequence, so both levels share kernels.
  const bool adds_meet = p.want_dq && p.seqlen_q > 0 && p.seqlen_k > 0, asked = p.determinism != Determinism::none;
  const auto config = [&](const BackwardTuning& tuning) {
    return adds_meet ? backward_config(spec, tuning, asked) : backward_config_without_dq(spec, tuning);
  };
  if (force) {
    const BackwardConfig forced = config(*force);
    check_forced(forced, forced.valid(), needs_sm_90(*force), card);
    reason = "asked for";
    return forced;
  }
  const Spec wanted = config({}).spec;
  if (const TunedRow* tuned = user ? find_tuned(*user, wanted, Pass::backward, problem_class(p, Pass::backward, card), card) : nullptr) {
    reason = reason_of(*tuned);
    return config(std::get<BackwardConfig>(tuned->config).tuning);
  }
  const BackwardRow& row =
      choose_row(tables_for(card.target).backward,
                 {int(p.head_dim), mask == MaskKind::band, heads_to_count(p, p.heads_kv), p.seqlen_k, walk_of(p), asked}, card.sms);
  reason = row.reason;
  return config(row.tuning);
}

void place_scratch(Plan& made, const BackwardConfig& config) {
  const i64 heads = made.problem.batch * made.problem.heads_q, rows = heads * made.geometry.rows_padded;
  place(made.workspace, made.workspace.row_lse2, rows * 4);
  place(made.workspace, made.workspace.row_delta, rows * 4);
  const i64 tiles = heads * made.geometry.q_tiles;
  place(made.workspace, made.workspace.dq_accumulator, made.problem.want_dq ? tiles * config.dq_layout().tile_floats() * 4 : 0);
  place(made.workspace, made.workspace.dq_turns, config.ordered() ? tiles * 4 : 0);
  place(made.workspace, made.workspace.ticket, config.ordered() ? 4 : 0);
}

}  // namespace

Plan plan_backward(const Problem& problem, const DeviceFacts& card, const BackwardTuning* force, const UserTable* user) {
  validate(problem, Pass::backward);
  Plan made;
  made.pass = Pass::backward;
  made.problem = problem;
  made.card = card;
  tables_for(card.target);  // refuses cards that no kernel serves, whatever the problem
  add_roofline(made);
  const bool some_q = problem.batch > 0 && problem.heads_q > 0 && problem.seqlen_q > 0;
  const bool some_k = problem.batch > 0 && problem.heads_kv > 0 && problem.seqlen_k > 0;
  // Without query rows the main kernel writes zero dK and dV; without keys preprocess and postprocess make a zero dQ.
  const bool writes_q = some_q && problem.want_dq, writes_k = some_k && (problem.want_dk || problem.want_dv);
  if (!writes_q && !writes_k) return made;

  std::string reason;
  const BackwardConfig config = choose_config(problem, card, force, user, reason);
  const auto& tuning = config.tuning;
  const i32 q_tiles = i32(ceil_div(problem.seqlen_q, i64(tuning.rows))), k_tiles = i32(ceil_div(problem.seqlen_k, i64(tuning.keys)));
  // Ordered adds start with the light tiles of each head, so that they do not gain from heads that go together.
  made.geometry = {
      .q_tiles = q_tiles,
      .k_tiles = k_tiles,
      .rows_padded = q_tiles * tuning.rows,
      .head_group = head_group(problem.batch * problem.heads_kv, config.spec.mask == MaskKind::band && !config.ordered(), walk_of(problem)),
      .cyclic = may_walk_cyclic(config, card, k_tiles)};
  const AttentionShape shape = shape_of(problem);
  const Spec elements = spec_for(problem.dtype, u16(problem.head_dim), MaskKind::none);

  add_packing(made, Step::pack_inputs);
  if (some_q)
    add_launch(made, Step::preprocess, PreprocessConfig{elements}, preprocess_grid(shape, made.geometry.rows_padded),
               config.ordered() ? "delta and LSE of each row; clears the counters of turns, and dQ of rows without keys"
                                : "delta and LSE of each row; clears the dQ accumulator");
  if (some_k) add_launch(made, Step::backward, config, backward_grid(shape, k_tiles), std::move(reason));
  if (writes_q && !config.finishes())
    add_launch(made, Step::postprocess, PostprocessConfig{elements, config.dq_layout()},
               postprocess_grid(shape, q_tiles, config.dq_layout()), "dQ from the fp32 accumulator, in the main kernel's layout");
  add_packing(made, Step::unpack_outputs);
  place_scratch(made, config);
  return made;
}

}  // namespace speedlight
