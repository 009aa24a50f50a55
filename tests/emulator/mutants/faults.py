"""Faults made by hand, of the kind that attention libraries have had. As PROTOCOL in sites.py: (file, text, put before it, put after it, what
that is); ON stands for the condition."""

# The reader's layout has half of the writer's warps.
FEWER_WARPS = '''(ON ? [&] {
        const DqLayout other{layout.rows, layout.cols, layout.warps_m, u8(layout.warps_n / 2)};
        const i32 of = row / other.warp_rows() * other.warps_n + chunk / other.fragments_n();
        return other.offset(of, row % other.warp_rows() / 16, chunk % other.fragments_n(), pair % 8 * 4);
      }() : '''.replace('\n', ' ')

FAULTS = [
    ('kernels/forward.h', 'ptx::store_global_float(lse + ', '', '(ON ? 1 : 0) + ', 'LSE one row off'),
    ('kernels/forward.h', 'first = place.tile * C.tuning.rows + row', '', ' + (ON ? 1 : 0)', 'queries one row off'),
    ('kernels/forward.h', 'entry * C.query_rows(), stage', 'ON ? 0 : ', '', 'every entry of queries holds the first'),
    ('kernels/forward.h', 'row / C.query_rows() == entry', '(ON ? C.query_rows() : 0) + ', '', 'queries of the entry before'),
    ('kernels/forward.h', 'block.some_from - query_entries', '', ' + (ON ? 1 : 0)', 'the queries take the place of keys'),
    ('kernels/forward.h', 'later * keys', '(ON ? keys : 0) + ', '', "refilled with the next stage's keys"),
    ('kernels/backward_preprocess.h', 'ptx::load_global_float(params.lse + at', '', ' + (ON ? 1 : 0)', "backward's LSE one row off"),
    ('kernels/backward_preprocess.h', 'params.row_lse2 + head * params.rows_padded', '(ON ? params.row_lse2 + head * params.shape.seqlen_q : ', ')',
     'padded LSE: the stride is not padded'),
    ('kernels/backward_postprocess.h', 'layout.offset(warp, row % layout.warp_rows() / 16, chunk % layout.fragments_n(), pair % 8 * 4)', FEWER_WARPS, ')',
     'dQ written for 256 threads, read by 128'),
    ('tile/product.h', 'ptx::mma_16816<T>(d.x[m][2 * n], a.x[k][m], f[n][0], f[n][1])',
     'ON ? ptx::mma_16816<T>(d.x[m][2 * n], f[n], a.x[k][m][0], a.x[k][m][1]) : ', '', 'A and B fragments swapped'),
    ('tile/operand_address.h', 'row % 8)) << 4', '(ON ? 1 : 0) + ', '', 'swizzle: the row of the xor one off'),
    ('kernels/forward.h', 'bool again = ptx::any(!rows.started());', 'if (ON && t > 0) rows.clear(); ', '', 'a second diagonal tile restarts the maximum'),
    ('attention/softmax.h', '-reference;', 'ON && reference == -ptx::infinity() ? 0.f : ', '', 'the safe maximum is stored'),
    ('attention/softmax.h', '-raised;', 'ON && raised == -ptx::infinity() ? 0.f : ', '', 'the safe maximum is stored when others are raised'),
    ('kernels/backward_scores.h', 'ptx::minimum(ptx::exp2(difference)', 'ON ? ptx::exp2(difference) : ', '', 'tail keys have P != 0 in backward'),
    ('kernels/backward_preprocess.h', 'ptx::load_global_float(params.dlse + at)', '(ON ? -1.0f : 1.0f) * ', '', 'dLSE with the wrong sign'),
    ('kernels/backward_gradient.h', 'first * to.row;', '(ON ? i64(context.block.batch) * C.tuning.keys * to.row : 0) + ', '', 'dK and dV offset by batch x tile'),
]
