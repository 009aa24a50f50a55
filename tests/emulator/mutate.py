#!/usr/bin/env python3
"""Runs mutants of the kernels on the emulator: shows that the emulator's tests can fail.

usage: mutate.py --build BUILD [--sample | --faults] [--only REGEX] [--list] [--report FILE]

All mutants (mutants/sites.py) lie behind switches in one program, `mutant_kernels`: the test of emulated_kernels over its case list, with the
kernels of mutants/kernels.txt. First every kernel runs unchanged, must pass, and says which switches it reaches; then each mutant runs the kernels
that reach it, the fastest first, until it is caught: by a diagnosis of the emulator or a wrong result. A barrier or the like that is left out must be
*diagnosed*; a run that does not end is not caught.
"""
import argparse, collections, concurrent.futures, json, os, re, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'mutants'))
sys.dont_write_bytecode = True
import equivalent, report  # noqa: E402

TIMEOUT = 120  # seconds a kernel
# Worst last. A run of several kernels ends as the first of these that one of them gives.
OUTCOMES = ['diagnosed', 'wrong result', 'crashes', 'does not end', 'missed']
CAUGHT = {'diagnosed', 'wrong result', 'crashes'}
DIAGNOSED = {'sync', 'handoff'}  # kinds that must be

Mutant = collections.namedtuple('Mutant', 'id kind file line text change')
Result = collections.namedtuple('Result', 'mutant outcome detail seconds')


def describe(m):
    return f'{m.kind} {m.file}:{m.line} {m.text} -> {m.change}'


class Program:
    def __init__(self, path):
        self.path = path
        listed = subprocess.run([path, '--gtest_list_tests'], capture_output=True, text=True, check=True).stdout
        self.tests = []
        for line in listed.split('\n'):
            if line.startswith('  '):
                self.tests.append(suite + line.split()[0])
            else:
                suite = line.split(' ')[0]
        self.reach = {}  # of each test: the mutants it reaches

    def run(self, test, mutant, reached=''):
        """Outcome of a test with a mutant, and the first line of what it says."""
        environment = dict(os.environ, SPEEDLIGHT_MUTANT=str(mutant), SPEEDLIGHT_MUTANT_REACHED=reached)
        command = [self.path, '--gtest_brief=1', f'--gtest_filter={test}']
        try:
            r = subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=TIMEOUT, env=environment)
        except subprocess.TimeoutExpired:
            return 'does not end', f'{TIMEOUT} s'
        if r.returncode == 0:
            return 'missed', ''
        said = re.search(r'emulator: (?:\S+: )?([^"\n]*?)(?:\\n|"|\n)', r.stdout)
        if said:
            return 'diagnosed', said.group(1)
        if r.returncode < 0:
            return 'crashes', f'signal {-r.returncode}'
        return 'wrong result', next(iter(re.findall(r'(?<=\\n)\w+ +FAIL [^\\\n]*|differ in bits', r.stdout)), 'test fails')

    def learn(self, pool):
        """Runs all tests unchanged and sorts them by their time."""
        def run(test):
            start = time.time()
            with tempfile.NamedTemporaryFile('r') as reached:
                outcome, said = self.run(test, -1, reached.name)
                if outcome != 'missed':
                    sys.exit(f'mutate: {test} fails unchanged: {outcome}: {said}')
                self.reach[test] = set(map(int, reached))
            return time.time() - start
        seconds = dict(zip(self.tests, pool.map(run, self.tests)))
        self.tests.sort(key=seconds.get)

    def judge(self, m):
        start, worst = time.time(), ('missed', 'no kernel reaches it')
        for test in self.tests:
            if m.id not in self.reach[test]:
                continue
            result = self.run(test, m.id)
            if worst[1].startswith('no kernel') or OUTCOMES.index(result[0]) < OUTCOMES.index(worst[0]):
                worst = result
            if worst[0] == 'diagnosed' or (worst[0] in CAUGHT and m.kind not in DIAGNOSED):
                break
        if worst[0] == 'missed':
            reason = equivalent.reason(m)
            worst = ('equivalent', reason) if reason else worst
        return Result(m, *worst, time.time() - start)


def chosen(mutants, a):
    found = [m for m in mutants if re.search(a.only, describe(m)) and (m.kind == 'fault') == (a.faults or m.kind == 'fault' and bool(a.only))]
    if not a.sample:
        return found
    sample = []
    for pattern in equivalent.SAMPLE:
        matching = [m for m in mutants if re.search(pattern, describe(m))]
        if not matching:
            sys.exit(f'mutate: no mutant matches "{pattern}" any more: adapt SAMPLE in mutants/equivalent.py')
        sample.append(matching[0])
    return sample


def good(r):
    return r.outcome == 'equivalent' or r.outcome == 'diagnosed' or r.outcome in CAUGHT and r.mutant.kind not in DIAGNOSED


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--build', required=True, help='build folder (Ninja); `mutant_kernels` is built there first')
    arguments.add_argument('--built', action='store_true', help='do not build')
    arguments.add_argument('--list', action='store_true', help='print the mutants, run nothing')
    arguments.add_argument('--sample', action='store_true', help='the few of CI')
    arguments.add_argument('--faults', action='store_true', help='the faults made by hand (mutants/faults.py)')
    arguments.add_argument('--only', default='', help='only mutants whose description, as --list prints it, matches')
    arguments.add_argument('--jobs', type=int, default=2)
    arguments.add_argument('--report', help='write the list and the outcomes here')
    a = arguments.parse_args()
    start = time.time()
    if not a.built:
        subprocess.run(['cmake', '--build', a.build, '--target', 'mutant_kernels'], check=True, stdout=sys.stderr)
    with open(os.path.join(a.build, 'tests', 'emulator', 'mutants', 'switched', 'mutants.json')) as f:
        mutants = chosen([Mutant(**m) for m in json.load(f)], a)
    if a.list:
        print('\n'.join(describe(m) for m in mutants))
        return
    program = Program(os.path.join(os.path.abspath(a.build), 'mutant_kernels'))
    results = []
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        program.learn(pool)
        print(f'{len(mutants)} mutants on {len(program.tests)} tests; built and run unchanged in {time.time() - start:.0f} s', flush=True)
        for r in pool.map(program.judge, mutants):
            results.append(r)
            print(f'{len(results)}/{len(mutants)} {describe(r.mutant)}: {r.outcome}: {r.detail[:150]} ({r.seconds:.1f} s)', flush=True)
    print(f'{time.time() - start:.0f} s.', report.summary(results))
    if a.report:
        report.write(a.report, results, len(program.tests), time.time() - start)
    bad = [r for r in results if not good(r)]
    for r in bad:
        print(f'NOT CAUGHT: {describe(r.mutant)}: {r.outcome}: {r.detail[:200]}')
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
