"""Mutants that change no result and no order that matters, and why; and the sample of CI."""
import re

HOST = 'no kernel under test asks: for the host and the reference, whose own tests check it'
MASKED = 'sends more steps, tiles or stages through the masked path, which is right for any'
WALKED = 'a tile more is walked, and masked whole'
BEYOND = 'K and V of keys beyond the end are zeros, and P is at most 1: they add 0'
# (file, in the line, change, reason): the patterns are searched.
EQUIVALENT = [
    ('tile/copy_near_rows.h', r'if \(u64\(row_stride\)', r'1|-infinity',
     'which of two loops copies: the first is right for any stride, the second still right one beyond its limit'),
    ('tile/ring.h', r'^\} ptx::sync_warp', 'no sync_warp',
     'orders no memory, the full barrier does; it only brings the warp together again before its next mma, which the emulator does not ask for'),
    ('tile/ring.h', r'static i32 stage_of', '', 'renames the stages, for all who use them alike'),
    ('attention/band.h', r'bool empty\(\)', '', HOST),
    ('attention/band.h', r'i64 count\(\)', r'-1|-infinity', 'hi < lo never comes here: key_tiles and row_tiles give {0, 0} then, and hi = lo gives 0 anyway'),
    ('attention/band.h', r'row_begin >= row_end', r'>= 1|>= infinity', 'a query tile always has a row'),
    ('attention/band.h', r'key_begin >= key_end', r'>= 1|>= infinity', 'a key tile always has a key'),
    ('attention/band.h', r'TileRange\{lo / key_tile', r'<= -', 'count() of it is 0 all the same'),
    ('attention/diagonals.h', r'bool touch', r'>= -|<= 1|<= infinity', MASKED),
    ('attention/diagonals.h', r'bool cover', r'>= 1|>= infinity|<= -', MASKED),
    ('attention/diagonals.h', r'last < row', r'< -', 'a warp without rows works for nothing: it stores no row'),
    ('attention/diagonals.h', r'last < row', r'> 1|> infinity', 'a window that sees nothing is walked, and masked whole'),
    ('attention/diagonals.h', r'const i32 last', r', 1 \+ seqlen_q', MASKED),
    ('attention/diagonals.h', r'^return \{larger\(0, row', r'-1 \+ row \+ lo|, 1 \+ last|-1 \+ row \+ hi', MASKED),
    ('attention/band.h', r'smaller\(lo, seqlen_[kq]\)', r'smaller\(..., 1', 'hi is at most that: empty either way'),
    ('attention/band.h', r'smaller<i64>\(seqlen_q, diagonal', r'smaller\(..., 1', WALKED + '; its part of dQ, zeros, comes last'),
    ('attention/band.h', r'^key_end = ', r', 1 \+', WALKED),
    ('attention/dq_order.h', r'if \(cyclic\)', r'-1 \+ k_tiles', 'another fixed order, with no circle of waits either'),
    ('kernels/backward_context.h', r'first_key \+ G::keys <=', r'<= -', MASKED),
    ('kernels/backward_context.h', r'first_key \+ G::keys <=', r'<= 1', BEYOND + '; no warp has nothing else'),
    ('kernels/backward_context.h', r'bound\[m\]\[half\]', r'< 1|< infinity', BEYOND),
    ('kernels/backward_context.h', r'return key >= ', r'>= 1|>= infinity', MASKED),
    ('kernels/backward_preprocess.h', r'count\(\) > 0\) continue', r'> 1|> infinity', 'more zeros, which the main kernel or the postprocess writes over'),
    ('kernels/backward_single.h', r'if constexpr \(!two_q\) Rows::load_q|^Rows::load_dout', r'\^ 1', 'with one stage its number is not used'),
    ('kernels/backward_loads.h', r'dout_full\(at, n\)', r'dout_(full|tile)\(\.\.\. \^ 1', 'where dO has fewer stages than Q it has one, whose number is not used'),
    ('kernels/backward_split.h', r'ptx::mbarrier_fence_init', '', 'no bulk copy counts on these mbarriers, and the block barrier orders their inits for the block'),
    ('kernels/backward_split.h', r'if \(n >= 2\) wait', r'>= -', 'tiles -1 and -2: the phase before the first, which counts as over'),
    ('kernels/backward_turns.h', r'ptx::load_acquire_32', 'no load', 'then only the first turn has come when it looks: others wait for theirs, and acquire'),
    ('kernels/backward_turns.h', r'come_ =', 'never come', 'then it waits, which acquires as well'),
    ('kernels/forward.h', r'entry >= own\(whole_from_word\)', r'>= 1|>= infinity', MASKED),
    ('kernels/forward.h', r'entry < own\(whole_end_word\)', r'< -', MASKED),
    ('kernels/forward.h', r'k.some_end > k.some_from', r'> -1', MASKED),
    ('kernels/forward.h', r'visible\.touch\(key, step', r'< 1|< infinity|> -', MASKED + '; rows that do not exist are not stored'),
    ('kernels/forward.h', r'live_rows = smaller', r', 1 \+', MASKED + '; rows that do not exist are not stored'),
    ('kernels/forward.h', r'seen_end = larger\(query_entries, smaller', r', 1 \+ entries', 'a warp sees no more than its block'),
    ('kernels/forward.h', r'larger\(seen_end, entries', r', 1 \+ entries', MASKED),
    ('kernels/forward.h', r'smaller\(mine\.all_end - first, seen_end\)', r', 1 \+ seen_end', 'what all rows see ends before what some see'),
    ('kernels/forward.h', r'smaller\(mine\.all_end - first, seen_end\)', r'-1 \+ seen_end', MASKED),
    ('kernels/forward.h', r'larger\(k\.all_end, 0\)', r', 1 \+ 0', 'one key makes no whole stage either'),
    ('attention/mask.h', r'^lo = larger\(lo, 0\)', '-1', 'bits_from clamps as well'),
]

# The first mutant that each of these finds, in the lines of `mutate.py --list`.
SAMPLE = [
    r'^sync tile/ring.h.*full_.*no mbarrier_wait',
    r'^sync tile/ring.h.*every lane.*no sync_warp',
    r'^sync tile/ring.h.*no sync_block',
    r'^sync kernels/backward_single.h.*dS is complete.*no sync_block',
    r'^sync kernels/backward_split.h.*wait\(pair\(\), number\).*no wait',
    r'^sync kernels/backward_context.h.*no fence_device',
    r'^sync kernels/backward_context.h.*no acquire',
    r'^predicate tile/copy.h.*-> < 1 ',
    r'^predicate attention/mask.h.*-> 1 . visible.hi',
    r'^predicate kernels/backward_scores.h.*-> >= -1 ',
    r'^predicate attention/output.h.*-> < infinity',
    r'^index tile/ring.h.*phase_of',
    r'^index tile/ring.h.*one group more',
    r'^index kernels/backward_split.h.*ds_tile',
    r'^protocol .*turns ascend',
    r'^protocol .*handed on before the fence',
    r'^handoff .*a turn handed on before dS is free',
    r'^handoff .*queries released before they are read',
]


def reason(m):
    return next((why for file, text, change, why in EQUIVALENT if m.file == file and re.search(text, m.text) and re.search(change, m.change)), '')
