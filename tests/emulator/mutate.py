#!/usr/bin/env python3
"""Makes mutants of the kernels and runs them on the emulator: shows that the emulator's tests can fail.

usage: mutate.py --build BUILD [--list] [--every N] [--only REGEX] [--report FILE]

BUILD is a build folder in which the target `emulated_kernels` is up to date. Kinds of mutants, each made from the text of the sources:
  sync       a barrier, wait, fence, commit, arrive or init call deleted: must be *diagnosed* by the emulator, a wrong result is not enough
  predicate  a bounds or mask comparison moved by one, or a validity flag always true
  index      a stage or phase one off, one group too many left pending
"""
import argparse, collections, os, re, shutil, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEVICE = os.path.join(ROOT, 'src', 'device')
SKIP = {'reference.h', 'ceiling.h'}
SYNC = re.compile(r'ptx::(sync_block|sync_warp|sync_named|arrive_named|cp_async_wait|cp_async_commit|mbarrier_init|mbarrier_wait|mbarrier_arrive_if|'
                  r'mbarrier_arrive_expect|mbarrier_arrive|mbarrier_fence_init|fence_proxy_async)(<[^()]*>)?\(')
BOUND = re.compile(r'(seqlen|row_end|key_end|entries|live_rows|visible|first_key|\blo\b|\bhi\b|below_|\bkey\b|\.count)')
COMPARE = re.compile(r' (<=|>=|<|>) (?![<>])')
OFF_BY_ONE = {'<': ['<='], '<=': ['<', '<= 1 +'], '>': ['>='], '>=': ['>', '+ 1 >=']}
# Configs that the mutants run: one of each structure.
CONFIGS = [r'fwd\.bf16\.d64\.band\.m128.*bulk', r'fwd\.bf16\.d64\.none\.m256.*bulk', r'fwd\.bf16\.d128\.band\.m64.*cp_async', r'fwd\.bf16\.d128\.none\.m128.*cp_async',
           r'fwd\.bf16\.d128\.band\.m256.*bulk\.keep', r'bwd\.bf16\.d64\.band\.single.*n128.*v4', r'bwd\.bf16\.d64\.none\.single.*n64.*plain',
           r'bwd\.bf16\.d128\.none\.single.*q2.*v4', r'bwd\.bf16\.d128\.band\.single.*q1o1.*plain', r'bwd\.bf16\.d128\.band\.split.*v4',
           r'bwd\.bf16\.d128\.none\.split.*plain', r'bwd_pre\.bf16', r'bwd_post\.bf16', r'pack']

# Mutants that change no result and no order that matters, and why: (file, in the line, becomes, reason). Reviewed by hand.
MORE_WORK = 'only more steps take the masked path, which masks them rightly'
EQUIVALENT = [
    ('tile/ring.h', r'^ptx::sync_warp\(\);$', 'void()', 'only brings the warp together again: the full mbarrier orders the data'),
    ('kernels/backward_single.h', r'cp_async_wait<0>\(\);', '', 'redundant: the loop has waited for every tile, and no tile means no copy'),
    ('attention/band.h', r'bool empty\(\)', '', 'no kernel under test asks'),
    ('attention/band.h', r'i64 count\(\)', '', 'equal ends give 0 either way'),
    ('attention/band.h', r'row_begin >= row_end|/ key_tile', '', 'key_tiles: only the host and deterministic dQ ask'),
    ('attention/band.h', r'key_begin >= key_end', '>', 'a block always has a key'),
    ('attention/band.h', r'/ row_tile', '<', 'a tile that nothing sees is walked and masked whole'),
    ('attention/schedule.h', r'row_begin >= row_end', '', 'key_span: only the host asks'),
    ('attention/diagonals.h', r'bool touch', '+ 1 >=', MORE_WORK),
    ('attention/diagonals.h', r'bool touch', '<= 1 +', MORE_WORK),
    ('attention/diagonals.h', r'bool cover', '>', MORE_WORK),
    ('attention/diagonals.h', r'bool cover', '<', MORE_WORK),
    ('kernels/backward_context.h', r'first_key \+ G::keys <=', '<', MORE_WORK),
    ('kernels/backward_context.h', r'first_key \\+ G::keys <=', '<= 1 +', 'rows of K beyond the end are zeros and their probabilities bounded: they add 0'),
    ('kernels/backward_context.h', r'return key >= ', '>', MORE_WORK),
    ('kernels/forward.h', r'visible\.touch', '<=', MORE_WORK),
    ('kernels/forward.h', r'visible\.touch', '>=', MORE_WORK),
]


def reason_if_equivalent(m):
    for file, line, new, reason in EQUIVALENT:
        if m.file == file and re.search(line, m.text) and new in ('', m.new):
            return reason
    return ''


Mutant = collections.namedtuple('Mutant', 'kind file line text start end new')


def closing(text, at):
    """Index after the parenthesis that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        at += 1
    return at


def mutants_of(path):
    with open(os.path.join(DEVICE, path)) as f:
        text = f.read()
    found = []

    def add(kind, start, end, new):
        line = text.count('\n', 0, start) + 1
        found.append(Mutant(kind, path, line, text.split('\n')[line - 1].strip(), start, end, new))

    for m in SYNC.finditer(text):
        add('sync', m.start(), closing(text, m.end()), 'void()')
        if m.group(1) == 'cp_async_wait':
            add('index', m.start(), m.end(), f'ptx::cp_async_wait<({m.group(2)[1:-1]}) + 1>(')
    for m in re.finditer(r'(?<!i32 )(?<!u32 )\b(stage_of|phase_of)\(', text):
        end = closing(text, m.end())
        add('index', end - 1, end, ' + 1)')
    for m in re.finditer(r'const bool (valid|mine|live|inside) = ([^;]*);', text):
        add('predicate', m.start(2), m.end(2), 'true')
    offset = 0
    for line in text.split('\n'):
        code = line.split('//')[0]
        if BOUND.search(code) and not re.search(r'^\s*(for|template|static_assert|#)', code) and 'for (i32 i = 0' not in code:
            for m in COMPARE.finditer(code):
                for new in OFF_BY_ONE[m.group(1)]:
                    add('predicate', offset + m.start(1), offset + m.end(1), new)
        offset += len(line) + 1
    return found


def all_mutants():
    found = []
    for folder in ('tile', 'attention', 'kernels'):
        for name in sorted(os.listdir(os.path.join(DEVICE, folder))):
            if name.endswith('.h') and name not in SKIP:
                found += mutants_of(f'{folder}/{name}')
    return found


class Builder:
    def __init__(self, build, work):
        self.work = work
        here = os.path.join(build, 'tests', 'emulator')
        target = os.path.join(here, 'CMakeFiles', 'emulated_kernels.dir')
        flags = dict(re.findall(r'^(CXX_\w+) = (.*)$', open(os.path.join(target, 'flags.make')).read(), re.M))
        self.device = os.path.join(work, 'device')
        self.flags = (flags['CXX_DEFINES'] + ' ' + flags['CXX_INCLUDES'] + ' ' + flags['CXX_FLAGS']).replace('-I' + DEVICE + ' ', '-I' + self.device + ' ')
        if '-I' + self.device not in self.flags:
            sys.exit('mutate: the include path of src/device was not found in flags.make')
        link = open(os.path.join(target, 'link.txt')).read()
        self.link = re.sub(r'CMakeFiles/\S*/kernels/kernels_\d+\.cc\.o ', '', link, flags=re.A)
        self.here = here
        pieces = []
        for name in os.listdir(os.path.join(here, 'kernels')):
            text = open(os.path.join(here, 'kernels', name)).read()
            pieces += re.findall(r'(#include "kernels/.*?register_\w+\("([^"]*)".*?\n\n)', text, re.S)
        chosen = [p for p in pieces if any(re.match(c, p[1]) for c in CONFIGS)]
        self.sources = {}
        for name, prefix in (('forward', 'fwd'), ('backward', 'bwd'), ('pack', 'pack')):
            self.sources[name] = os.path.join(work, name + '.cc')
            with open(self.sources[name], 'w') as f:
                f.write('#include "planned/kernel_entry.h"\n' + ''.join(p[0] for p in chosen if p[1].startswith(prefix)))
        self.texts = [p[1] for p in chosen]

    def set_mutant(self, mutant):
        shutil.rmtree(self.device, ignore_errors=True)
        shutil.copytree(DEVICE, self.device)
        if mutant:
            path = os.path.join(self.device, mutant.file)
            text = open(path).read()
            with open(path, 'w') as f:
                f.write(text[:mutant.start] + mutant.new + text[mutant.end:])

    def run(self, mutant):
        """Outcome: 'diagnosed', 'wrong result', 'missed', 'does not compile', 'hangs'; and the first line of the report."""
        self.set_mutant(mutant)
        parts = ['forward', 'backward', 'pack']
        if mutant and mutant.file.startswith('kernels/'):
            parts = [p for p in parts if os.path.basename(mutant.file).startswith(p)]
        elif mutant and 'ring' in mutant.file:
            parts = ['forward']
        objects = {p: os.path.join(self.work, p + ('.mutant.o' if mutant and p in parts else '.o')) for p in self.sources}
        jobs = [subprocess.Popen(f'c++ {self.flags} -w -c {self.sources[p]} -o {objects[p]}', shell=True, stderr=subprocess.PIPE, text=True) for p in parts]
        for job in jobs:
            errors = job.communicate()[1]
            if job.returncode:
                return 'does not compile', errors.split('\n')[0]
        program = os.path.join(self.work, 'program')
        link = re.sub(r'-o \S+', f'-o {program} ' + ' '.join(objects.values()), self.link.strip(), count=1)
        subprocess.run(link, shell=True, cwd=self.here, check=True, capture_output=True)
        prefixes = {'forward': 'fwd', 'backward': 'bwd', 'pack': ''}
        names = ':'.join(f'*/{prefixes[p]}*' for p in parts)
        try:
            r = subprocess.run([program, '--gtest_brief=1', '--gtest_fail_fast', '--gtest_filter=' + names], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return 'hangs', ''
        report = next((l for l in r.stdout.split('\n') if l.startswith('emulator: ')), '')
        if r.returncode == 0:
            return 'missed', ''
        if report:
            return 'diagnosed', re.sub(r'^emulator: \S+ ', '', report)
        return 'wrong result', next((l for l in r.stdout.split('\n') if 'FAIL ' in l or 'rror' in l), f'exit code {r.returncode}')


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--build', required=True)
    arguments.add_argument('--list', action='store_true', help='print the mutants, run nothing')
    arguments.add_argument('--every', type=int, default=1, help='only every Nth mutant')
    arguments.add_argument('--only', default='', help='only mutants whose "kind file:line text" matches')
    arguments.add_argument('--report', help='write a Markdown table here')
    a = arguments.parse_args()
    mutants = [m for m in all_mutants() if re.search(a.only, f'{m.kind} {m.file}:{m.line} {m.text}')][::a.every]
    if a.list:
        for m in mutants:
            print(f'{m.kind:9} {m.file}:{m.line}  {m.text}  ->  {m.new}')
        return
    rows, counts = [], collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        builder = Builder(os.path.abspath(a.build), work)
        outcome = builder.run(None)
        if outcome[0] != 'missed':
            sys.exit(f'mutate: the kernels fail unchanged: {outcome}')
        print(f'{len(mutants)} mutants on {len(builder.texts)} kernels', flush=True)
        for number, m in enumerate(mutants):
            start = time.time()
            outcome, detail = builder.run(m)
            if outcome == 'missed' and reason_if_equivalent(m):
                outcome, detail = 'equivalent', reason_if_equivalent(m)
            counts[m.kind, outcome] += 1
            rows.append(f'| {m.kind} | {m.file}:{m.line} | `{m.text[:110].replace("|", chr(92) + "|")}` | `{m.new}` | {outcome} | {detail[:140].replace("|", chr(92) + "|")} |')
            print(f'{number + 1}/{len(mutants)} {m.kind} {m.file}:{m.line} {m.text[:70]} -> {m.new}: {outcome}: {detail[:120]} ({time.time() - start:.0f} s)', flush=True)
    if a.report:
        with open(a.report, 'w') as f:
            f.write('| kind | place | line | becomes | outcome | report |\n|---|---|---|---|---|---|\n' + '\n'.join(rows) + '\n')
    caught = sum(n for (kind, o), n in counts.items() if o in ('diagnosed', 'wrong result', 'hangs'))
    tried = sum(n for (kind, o), n in counts.items() if o not in ('does not compile', 'equivalent'))
    print(f'{caught} of {tried} caught;', ', '.join(f'{k} {o}: {n}' for (k, o), n in sorted(counts.items())))


if __name__ == '__main__':
    main()
