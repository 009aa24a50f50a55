"""Finds the mutants of the kernels in the text of their sources, and writes the sources with a switch at each of them.

A mutant never takes text away: it only adds text around or before what is there, so that all mutants fit into one program, whatever they
nest in. switch.h has what is called. Kinds:
  sync       a barrier, wait, fence, commit, arrive, init or turn call left out, a wait that does not acquire
  predicate  a bounds or mask comparison one more, one less, always true, never true; a bound or clamp one more, one less
  index      a stage or phase one off, one group of copies too many left pending
  protocol   faults of the order of dQ's adds, written by hand (PROTOCOL)
  handoff    a stage handed on too early, to the wrong ones or with a wrong count, written by hand (handoffs.py)
  fault      other faults written by hand (faults.py)
"""
import collections, json, os, re, sys

import faults
from handoffs import HANDOFFS

FOLDERS = ('tile', 'attention', 'kernels')
SKIP = {'reference.h', 'reference_vector.h', 'ceiling.h', 'digest.h'}  # for tests and measurements only
NOT_BOUNDS = {'attention/softmax.h'}  # its comparisons choose between two ways that are both right
# Files of ptx/ all of whose functions order memory or threads, except these.
SYNC_FILES, NOT_SYNC = ('barrier.h', 'mbarrier.h', 'cp_async.h'), {'cp_async_16'}
MORE_SYNC = {'fence_proxy_async', 'fence_device', 'load_acquire_32', 'add_relaxed_32', 'wait_acquire_32'}
VALUES = {'load_acquire_32', 'add_relaxed_32'}  # return a word
TURN_CALLS = r'(?<![\w.])(?<!void )(?:\w+\.)*(?:pass_on|report|await|await_turn|hand_on)'
# Hand-overs of the split schedule: which, and the number of the tile.
HANDOFF_CALLS = re.compile(r'(?<![\w.:])(wait|arrive)\((?:rows_free|ds_full|ds_free|pair\(\)), ([^()]*)\)')
BOUND = re.compile(r'(seqlen|row_end|key_end|_end\b|\bend\b|entries|rows\b|visible|first_key|\blo\b|\bhi\b|below_|above_|\bkey\b|\blive\b|\bleft\b|\.count|'
                   r'tiles|\bthread\b|\bcopies\b|\bunits\b|batch\b|\bend_|_word\b|\bn >=? \d)')
# The end of a loop that is unrolled: constants are in capitals, or these.
CONSTANT_EXPRESSION = r'([\s\d/*+(),-]|\b[A-Z]\w*((::|\.)\w+)*(\(\))?|\b(steps|rows_at_once|chunk_rows|copies|lanes|threads|part|k|smaller)\b)*'
COMPARE = re.compile(r' (<=|>=|<|>) (?![<>])')
STAGE_CALLS = r'\b(?:q_tile|dout_tile|row_stats|q_full|dout_full|ds_tile|turn_word|p_fragments|load_q|load_dout|wait_q|wait_dout)'

Mutant = collections.namedtuple('Mutant', 'id kind file line text change')
Insertion = collections.namedtuple('Insertion', 'start end before after')  # around text[start:end]


# Faults of the order of dQ's adds: (file, text, put before it, put after it, what that is). ON stands for the condition.
PROTOCOL = [
    ('attention/dq_order.h', 'first_adder(j) - k;', '(ON ? 1 : 0) + ', '', 'every turn one late'),
    ('attention/dq_order.h', 'behind < 0 ?', 'ON ? k : ', '', 'turns ascend'),
    ('kernels/backward_context.h', 'ptx::add_relaxed_32(params.ticket, 1)', '(ON ? ptx::block_index() : ', ')', 'items by block, not by ticket'),
    ('kernels/backward_context.h', 'params.head_group, G::ordered', '', ' && !ON', 'the first key tile starts first'),
    ('kernels/backward_dq.h', 'turn & turn_first', 'ON || ', '', 'every part is stored'),
    ('kernels/backward_dq.h', 'turn & turn_first', '!ON && ', '', 'no part is stored'),
    ('kernels/backward_dq.h', '!(word & turn_come)', '!ON && ', '', 'adders do not wait'),
    ('kernels/backward_dq.h', 'x[i] += ptx::from_bits(there.x[i]);', 'if (!ON) ', '', 'the last part leaves out the others'),
    ('kernels/backward_dq.h', 'turn & (turn_completes | turn_only)', 'ON || ', '', 'every part finishes'),
    ('kernels/backward_dq.h', 'turn & (turn_completes | turn_only)', '!ON && ', '', 'no part finishes'),
    ('kernels/backward_turns.h', 'at_.order().last(at_.block.key_tile, walk_.tile)', '!ON && ', '', 'no part is the last'),
    ('kernels/backward_turns.h', 'at_.order().last(at_.block.key_tile, walk_.tile)', '(ON || ', ')', 'every part is the last'),
    ('attention/dq_order.h', 'turn(k, j) == k_tiles - 1', '(ON ? 1 : 0) + ', '', 'the last but one takes itself for the last'),
    ('kernels/backward_context.h', 'params.dq_turns + tile_index(w)', '', ' + (ON ? 1 : 0)', "the next tile's counter"),
    ('kernels/backward_context.h', 'ptx::lane_index() == 0) ptx::add_relaxed_32(turn_counter(w), 1);', 'ON || ', '', 'handed on by every lane'),
    ('kernels/backward_context.h', 'ptx::fence_device();\n    if (ptx::lane_index() == 0) ptx::add_relaxed_32(turn_counter(w), 1);',
     'if (ON && ptx::lane_index() == 0) ptx::add_relaxed_32(turn_counter(w), 1); if (ON) return ptx::fence_device(); ', '', 'handed on before the fence'),
    ('kernels/backward_turns.h', 'at_.warp == first_warp_ + walk_.tile % warps_', '', ' && !ON', 'nobody hands on'),
    ('kernels/backward_turns.h', 'at_.warp == first_warp_ + (walk_.tile + 1) % warps_', '', ' && !ON', 'nobody looks'),
    ('kernels/backward_turns.h', 'if (hands_on() && some_done)', 'if (ON) some_done = true; ', '', 'handed on though nothing is done'),
    ('kernels/backward_turns.h', 'ptx::load_acquire_32(at_.turn_counter(walk_)) ==', 'ON || ', '', 'the turn has always come'),
    ('kernels/backward_turns.h', 'ptx::load_acquire_32(at_.turn_counter(walk_)) ==', '!ON && ', '', 'the turn has never come'),
    ('kernels/backward_turns.h', '== at_.turn(walk_)', '+ (ON ? 1u : 0u) ', '', 'the turn before this one is enough'),
    ('kernels/backward_single.h', 'behind, some_behind)', 'ON ? walk : ', '', 'passed on a tile early'),
    ('kernels/backward_split.h', 'added, n >= 2)', 'ON ? behind : ', '', 'passed on a tile early'),
]


def closing(text, at):
    """Index after the parenthesis that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        at += 1
    return at


def last_argument(text, at):
    """Start of the last argument of the call whose arguments begin at `at` and end at the returned end."""
    end, depth, start = closing(text, at) - 1, 0, at
    for i in range(at, end):
        depth += {'(': 1, '{': 1, ')': -1, '}': -1}.get(text[i], 0)
        if text[i] == ',' and depth == 0:
            start = i + 1
    while text[start] == ' ':
        start += 1
    return start, end


def sync_names(device):
    names = set(MORE_SYNC)
    for file in SYNC_FILES:
        with open(os.path.join(device, 'ptx', file)) as f:
            names |= set(re.findall(r'^inline \w+ (\w+)\(', f.read(), re.M)) - NOT_SYNC
    return names


class Finder:
    def __init__(self, device, faults):
        self.mutants, self.written = [], {}
        # By hand: (kind, what, edits), and of each of them its number and how many of its edits are in.
        self.by_hand = [(kind, what, [(file, *edit)]) for kind, edits in (('protocol', PROTOCOL), ('fault', faults)) for file, *edit, what in edits]
        self.by_hand += [('handoff', what, edits) for what, *edits in HANDOFFS]
        self.numbers, self.placed = {}, collections.Counter()
        self.sync = re.compile(r'ptx::(' + '|'.join(sorted(sync_names(device), key=len, reverse=True)) + r')(<[^()]*>)?\(')
        for folder in FOLDERS:
            for name in sorted(os.listdir(os.path.join(device, folder))):
                self.file(device, f'{folder}/{name}')
        for i, (_, what, edits) in enumerate(self.by_hand):
            for j, (file, text, _, _) in enumerate(edits):
                if not self.placed[i, j]:
                    raise SystemExit(f'mutants: {file} has not exactly one "{text}", around which "{what}" was to be put: '
                                     'adapt PROTOCOL, handoffs.py or faults.py')

    def file(self, device, path):
        with open(os.path.join(device, path)) as f:
            self.text = f.read()
        self.path, self.insertions = path, []
        if os.path.basename(path) not in SKIP:
            self.calls()
            if path not in NOT_BOUNDS:
                self.comparisons()
            self.bounds()
            self.indices()
        for i, (kind, what, edits) in enumerate(self.by_hand):
            for j, (file, text, before, after) in enumerate(edits):
                if file == path and self.text.count(text) == 1:
                    start = self.text.index(text)
                    if i not in self.numbers:
                        self.numbers[i] = self.add(kind, start, what)
                    self.placed[i, j] += 1
                    on = f'mutants::on({self.numbers[i]})'
                    self.put(start, start + len(text), before.replace('ON', on), after.replace('ON', on))
        for m in re.finditer(r'^namespace speedlight', self.text, re.M):  # so that these functions are not merged with the library's
            self.put(m.end(), m.end(), '::inline mutated', '')
        self.written[path] = self.woven()

    def add(self, kind, at, *changes):
        """Numbers of consecutive mutants; returns the first."""
        line, lines = self.text.count('\n', 0, at) + 1, self.text.split('\n')
        text = lines[line - 1].strip()
        if re.fullmatch(r'(ptx::\w+\(\)|arrive\([^()]*\));', text):  # says little alone
            text = f'{lines[line - 2].strip()} {text}'
        first = len(self.mutants) + 1
        for i, change in enumerate(changes):
            self.mutants.append(Mutant(first + i, kind, self.path, line, text, change))
        return first

    def put(self, start, end, before, after=''):
        self.insertions.append(Insertion(start, end, before, after))

    def woven(self):
        """The text with all insertions: at one place first what closes, the inner before the outer, then what opens, the outer first."""
        pieces = []
        for i in self.insertions:
            if i.before:
                pieces.append((i.start, 1, -i.end, i.before))
            if i.after:
                pieces.append((i.end, 0, -i.start, i.after))
        text, at = [], 0
        for position, _, _, piece in sorted(pieces, key=lambda p: p[:3]):
            text += [self.text[at:position], piece]
            at = position
        return ''.join(text) + self.text[at:]

    def calls(self):
        for m in self.sync.finditer(self.text):
            name, end = m.group(1), closing(self.text, m.end())
            first = self.add('sync', m.start(), f'no {name}', *(['no acquire'] if name == 'wait_acquire_32' else []))
            nothing, call = ('u32()', '') if name in VALUES else ('void()', 'void')
            relaxed = f'mutants::on({first + 1}) ? mutants::wait_relaxed_32{self.text[m.end() - 1:end]} : ' if name == 'wait_acquire_32' else ''
            self.put(m.start(), end, f'(mutants::on({first}) ? {nothing} : {relaxed}{call}(', '))')
            if name == 'cp_async_wait':
                first = self.add('index', m.start(), 'one group more left pending')
                self.put(m.start(), m.start(), f'mutants::on({first}) ? void(ptx::cp_async_wait<({m.group(2)[1:-1]}) + 1>()) : ')
        for m in re.finditer(f'(?:{TURN_CALLS})\\(', self.text):
            if '//' in self.text[self.text.rfind('\n', 0, m.start()) + 1:m.start()]:
                continue
            first = self.add('sync', m.start(), f'no {m.group(0)[:-1]}')
            self.put(m.start(), closing(self.text, m.end()), f'(mutants::on({first}) ? void() : void(', '))')
        for m in HANDOFF_CALLS.finditer(self.text):
            first = self.add('sync', m.start(), f'no {m.group(1)}')
            self.put(m.start(), m.end(), f'(mutants::on({first}) ? void() : void(', '))')

    def comparisons(self):
        offset = 0
        for line in self.text.split('\n'):
            code = line.split('//')[0]
            for m in COMPARE.finditer(code):
                if not is_bound(code, m.start(1), m.end(1)):
                    continue
                first = self.add('predicate', offset + m.start(1), *(f'{m.group(1)} {x}' for x in ('1 +', '-1 +', 'infinity +', '-infinity +')))
                self.put(offset + m.end(), offset + m.end(), f'mutants::margin({first}) + ')
            offset += len(line) + 1
        for m in re.finditer(r'const bool (valid|mine|live|inside) = ([^;]*);', self.text):
            first = self.add('predicate', m.start(2), 'true')
            self.put(m.start(2), m.end(2), f'mutants::on({first}) || (', ')')

    def bounds(self):
        for m in re.finditer(r'\b(smaller|larger)(<\w+>)?\(', self.text):
            if in_constant(self.text, m.start()):
                continue
            start, end = last_argument(self.text, m.end())
            if re.fullmatch(r'[A-Z *]+', self.text[start:end]):
                continue
            first = self.add('predicate', start, f'{m.group(1)}(..., 1 + {self.text[start:end]})', f'{m.group(1)}(..., -1 + {self.text[start:end]})')
            self.put(start, end, f'mutants::nudged({first}, ', ')')
        for m in re.finditer(r'\b(?:\w+\.)?visible\.(?:lo|hi)\b', self.text):
            first = self.add('predicate', m.start(), f'1 + {m.group(0)}', f'-1 + {m.group(0)}')
            self.put(m.start(), m.end(), f'mutants::nudged({first}, ', ')')

    def indices(self):
        for m in re.finditer(r'(?<!i32 )(?<!u32 )\b(stage_of|phase_of)\(', self.text):
            end = closing(self.text, m.end())
            self.put(end - 1, end - 1, f' + mutants::on({self.add("index", m.start(), m.group(1) + "(... + 1)")})')
        for m in re.finditer(r'u32\((entry|next)\) % Stages', self.text):
            self.put(m.start(1), m.end(1), '', f' + mutants::on({self.add("index", m.start(), "(... + 1) % Stages")})')
        for m in re.finditer(r'entry (- 1 \+ Stages|\+ Stages - 1)', self.text):
            self.put(m.start(), m.start(), f'mutants::on({self.add("index", m.start(), "1 + " + m.group(0))}) + ')
        for m in re.finditer(STAGE_CALLS + r'\(', self.text):
            start, end = last_argument(self.text, m.end())
            if re.fullmatch(r'stage( \^ 1)?|number( \+ 1)?|number & 1|n|0', self.text[start:end]):
                first = self.add('index', m.start(), f'{m.group(0)}... ^ 1)')
                self.put(start, end, '(', f') ^ mutants::on({first})')
        for m in HANDOFF_CALLS.finditer(self.text):  # the other stage's; the other phase's
            changes = [f'{m.group(1)}(... ^ {x})' for x in ((1, 2) if m.group(1) == 'wait' else (1,))]
            first = self.add('index', m.start(), *changes)
            self.put(m.start(2), m.end(2), '(', f') ^ ({" | ".join(f"{1 + i} * mutants::on({first + i})" for i in range(len(changes)))})')
        for m in re.finditer(r'u32\(n\) / \w+ & 1', self.text):
            self.put(m.end(), m.end(), f' ^ mutants::on({self.add("index", m.start(), "phase ^ 1")})')
        for m in re.finditer(r'Rows::next\(number\)', self.text):
            first = self.add('index', m.start(), 'stage stays', 'phase stays')
            self.put(m.end(), m.end(), f' ^ (mutants::on({first}) | 2 * mutants::on({first + 1}))')


def is_bound(code, start, end):
    """A comparison with a bound or mask that is known only when the kernel runs."""
    if re.search(r'\b(static_assert|template|if constexpr)\b|^\s*#|nullptr', code) or in_constant(code, start):
        return False
    loop = re.match(r'\s*for \(.*?;', code)
    if loop and end <= code.find(';', loop.end()) and re.fullmatch(CONSTANT_EXPRESSION, code[end:code.index(';', end)]):
        return False
    return bool(BOUND.search(code))


def in_constant(text, at):
    """Inside a `constexpr` declaration, a template argument or a static_assert: computed by the compiler."""
    start = max(text.rfind(c, 0, at) for c in ';{}\n') + 1
    return bool(re.search(r'\b(static )?constexpr (i32|u32|bool|auto)\b[^()]*=|static_assert', text[start:at]))


def write(device, to, by_hand):
    """Writes the sources with switches below `to` and returns the mutants."""
    found = Finder(device, by_hand)
    for path, text in found.written.items():
        target = os.path.join(to, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(target).read() != text:
            with open(target, 'w') as f:
                f.write(text)
    return found.mutants


if __name__ == '__main__':  # <src/device> <folder>: writes the sources there, and the list of mutants
    device, to = sys.argv[1:]
    mutants = write(device, to, faults.FAULTS)
    with open(os.path.join(to, 'mutants.json'), 'w') as f:
        json.dump([m._asdict() for m in mutants], f, indent=0)
