"""Stages handed on wrongly: between the roles of the split schedule, whose mbarriers kernels/backward_split.h names, and through the ring. Left out
calls, and the other stage's or phase's mbarrier, are not here: sites.py finds them. (what that is, edits): an edit is (file, text, put before it,
put after it); ON stands for the condition. All of them must be diagnosed."""

S, DQ, F = 'kernels/backward_split.h', 'kernels/backward_dq.h', 'kernels/forward.h'
# The score warps' and the gradient warps' arrival of a tile, which an earlier one replaces where the warp has anything to do.
SKIPPED = 'if (!ON || (G::masked && at_.warp_sees_nothing(walk.tile))) '
SCORES_LEAVE_ROWS, GRADIENTS_LEAVE_ROWS = 'arrive(rows_free, n);\n      plain_behind', 'arrive(rows_free, n);\n      added = behind'
SCORES_LEAVE_DS = 'if (n > 0) arrive(ds_free, n - 1);'
ARRIVE_DS_FREE = ('if (ON && G::split) ptx::mbarrier_arrive('
                  'at.shared + u32(G::shared.handoffs + 2 * 16 + (ds != at.shared + u32(G::shared.ds) ? 8 : 0))); ')
COUNT = '32 * (which == rows_free ? C.tuning.warps : which < p_full ? role_warps : 1)'

HANDOFFS = [
    ('P handed over before it is written', (S, 'tile::Operand<N / 2, G::key_blocks> p;', 'if (ON) arrive(pair(), number); ', ''),
     (S, 'arrive(pair(), number);', 'if (!ON) ', '')),
    ('dS handed over before it is written', (S, 'tile::Operand<N / 2, G::key_blocks> ds;', 'if (ON) written(); ', ''),
     (S, 'written();\n    multiply<', 'if (!ON) ', '')),
    ('dS free before the dQ product', (S, 'const bool plain = at_.unmasked', 'if (ON && n > 0) arrive(ds_free, n - 1); ', ''),
     (S, SCORES_LEAVE_DS, 'if (!ON) ', '')),
    ('dS free before the adds', (DQ, 'if constexpr (G::ordered) {', ARRIVE_DS_FREE, ''),
     (S, SCORES_LEAVE_DS, 'if (!ON || at_.params.dq_accumulator == nullptr) ', '')),
    ('rows free before the dV product', (S, 'handed();', 'if (ON) arrive(rows_free, number); ', ''),
     (S, SCORES_LEAVE_ROWS, SKIPPED, '')),
    ('rows free before the dK product', (S, 'G::PairWriter::write(pairs, m, k16, ds.x[k16][m]);\n      }', '', ' if (ON) arrive(rows_free, number);'),
     (S, GRADIENTS_LEAVE_ROWS, SKIPPED, '')),
    ('a turn handed on before dS is free', (S, 'if (n >= 2) wait(ds_free, n - 2);', 'if (ON) turn.pass_on(added, n >= 2); ', ' if (!ON) ')),
    ('the last turn handed on before all is added',
     (S, 'ptx::sync_block();  // all of the shared memory is free',
      'if (ON && G::ordered && !score_role() && hands_on_last() && !last.done()) at_.hand_on(last); ', ''),
     (S, 'if (G::ordered && hands_on_last() && !last.done())', 'if (!ON) ', '')),
    ("the next warp's P is waited for", (S, 'p_full + at_.warp % role_warps',
                                         'p_full + (at_.warp + (ON && !score_role() ? 1 : 0)) % role_warps + 0 * (', ')')),
    ('one P', (S, 'G::shared.p + (n & 1)', '', ' * (ON ? 0 : 1)')),
    ('one dS', (S, 'G::shared.ds + (n & 1)', '', ' * (ON ? 0 : 1)')),
    ('one turn word', (S, 'G::shared.turn_words + (n & 1)', '', ' * (ON ? 0 : 1)')),
    ('phases the other way round', (S, '(u32(n) & 2) != 0', 'ON != (', ')')),
    ('one lane arrives for its warp', (S, 'ptx::mbarrier_arrive(barrier(which, n));', 'if (!ON || ptx::elected()) ', ''), (S, COUNT, '', ' / (ON ? 32 : 1)')),
    ('queries released before they are read', (F, 'if (ptx::any(row / C.query_rows() == entry)) {', 'if (ON) ring.release(entry); ', ''),
     (F, 'ring.release(entry);\n    }\n  }', 'if (!ON) ', '')),
    ('queries not released', (F, 'ring.release(entry);\n    }\n  }', 'if (!ON) ', '')),
    ('queries not waited for', (F, 'ring.wait(entry);\n      refill(entry);', 'ON ? base + u32(shared.ring + entry * C.stage_bytes()) : ', '')),
    ('queries: no refill', (F, 'refill(entry);\n      if (ptx::any(row', 'if (!ON) ', '')),
    ('queries read from the next stage', (F, 'u32(row % C.query_rows() * 128)', '', ' + u32(ON ? C.stage_bytes() : 0)')),
    ('queries: refilled before the wait', (F, 'const ptx::SharedAddress stage = ring.wait(entry);', 'if (ON) refill(entry); ', ' if (!ON) ')),
    ("queries: a key stage's bytes expected", (F, 'QueryTile::bytes', 'ON ? C.stage_bytes() : ', '')),
    ("keys: a query stage's bytes expected", (F, 'C.stage_bytes());\n      tile::copy_box<Tile>(stage, p.k_map', 'ON ? QueryTile::bytes : ', '')),
    ('whole stages released before they are read',
     (F, 'whole_stage(entry, ring.wait(entry));', 'if (ON) ring.wait(entry), ring.release(entry); ', ' if (!ON) ')),
    ('masked stages released before they are read',
     (F, 'masked_stage(entry, ring.wait(entry));', 'if (ON) ring.wait(entry), ring.release(entry); ', ' if (!ON) ')),
]
# Wrong counts.
HANDOFFS += [(f'{name} counts a {who} {"less" if by < 0 else "more"}', (S, COUNT, '', f' + (ON && which {which} ? {by} : 0)'))
             for name, which in (('rows_free', '== rows_free'), ('ds_full', '== ds_full'), ('ds_free', '== ds_free'), ('p_full', '>= p_full'))
             for who, by in (('lane', -1), ('lane', 1), ('warp', -32), ('warp', 32))]
