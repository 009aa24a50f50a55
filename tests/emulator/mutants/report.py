"""Writes docs/mutants.md."""
import collections, datetime, itertools

CAUGHT = ('diagnosed', 'wrong result', 'crashes')
KINDS = {'sync': 'Synchronisation left out or weakened', 'predicate': 'Bounds and masks', 'index': 'Stages, phases and groups of copies',
         'protocol': "The order of dQ's adds", 'handoff': 'Stages handed on wrongly', 'fault': 'Faults made by hand'}
HEAD = '''# Mutants

What the emulator's tests catch, written by `tests/emulator/mutate.py --build build --report docs/mutants.md`: do not edit. How mutants are made and
run: [emulator](emulator.md#it-can-fail-mutants). The outcome is that of the first kernel that catches the mutant; *diagnosed*: the emulator reported a
fault or a deadlock; *wrong result*: the comparison with float64 failed; *crashes*: the test program did.

'''


def summary(results):
    tried = [r for r in results if r.outcome != 'equivalent']
    caught = sum(r.outcome in CAUGHT for r in tried)
    return f'{len(results)} mutants, {len(results) - len(tried)} of them equivalent; {caught} of the other {len(tried)} caught'


def count_table(results):
    counts = collections.Counter((r.mutant.kind, r.outcome) for r in results)
    outcomes = [o for o in (*CAUGHT, 'does not end', 'missed', 'equivalent') if any(counts[k, o] for k in KINDS)]
    lines = [['kind', *outcomes], ['---'] * (1 + len(outcomes))]
    lines += [[KINDS[k], *(str(counts[k, o] or '') for o in outcomes)] for k in KINDS if any(counts[k, o] for o in outcomes)]
    return ''.join('| ' + ' | '.join(line) + ' |\n' for line in lines)


def code(text):
    return '`' + text.replace('|', '\\|') + '`'


def short(r):
    text = r.outcome if r.outcome != 'diagnosed' else r.detail.split(': ', 1)[-1] if r.detail.startswith('block') else r.detail
    return text[:70].replace('|', '\\|')


def place(m):
    return f'{m.file}:{m.line}'


def write(path, results, kernels, seconds):
    by_outcome = lambda *outcomes: [r for r in results if r.outcome in outcomes]
    with open(path, 'w') as f:
        f.write(HEAD + f'{summary(results)} ({kernels} kernels, {seconds:.0f} s, {datetime.date.today()}).\n\n' + count_table(results))
        missed = by_outcome('missed', 'does not end')
        f.write('\n## Missed\n\n' + (''.join(f'- {place(r.mutant)} {code(r.mutant.text)}: {code(r.mutant.change)}: {r.outcome}\n' for r in missed) or 'None.\n'))
        f.write('\n## Equivalent\n\n| place | line | changes | why |\n|---|---|---|---|\n')
        key = lambda r: (place(r.mutant), r.mutant.text, r.detail)
        for (where, text, why), group in itertools.groupby(by_outcome('equivalent'), key):
            f.write(f'| {where} | {code(text[:110])} | {", ".join(code(r.mutant.change) for r in group)} | {why} |\n')
        for kind, title in KINDS.items():
            rows = [r for r in by_outcome(*CAUGHT) if r.mutant.kind == kind]
            if rows:
                f.write(f'\n## {title}\n\n| place | line | becomes: outcome |\n|---|---|---|\n')
            for (where, text), group in itertools.groupby(rows, lambda r: (place(r.mutant), r.mutant.text)):
                f.write(f'| {where} | {code(text[:110])} | {"<br>".join(f"{code(r.mutant.change)}: {short(r)}" for r in group)} |\n')
