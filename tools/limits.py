#!/usr/bin/env python3
"""Reports the size of files and functions, and fails when one is over the limit: 600 lines a file, 80 a function."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_LIMIT, FUNCTION_LIMIT = 600, 80
NOT_FUNCTIONS = re.compile(r"^(if|for|while|switch|do|else|try|catch|namespace|struct|class|union|enum|static_assert)\b")


def without_text(source: str) -> str:
    """The source with comments, strings and character literals blanked, line breaks kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group(0)), source, flags=re.S)


def functions(source: str):
    """(name, first line, lines) of every outermost function body: a brace with `name(...)` before it opens one."""
    text, stack, start = without_text(source), [], 0
    for at, character in enumerate(text):
        if character == ";":
            start = at + 1
        elif character == "{":
            head = re.sub(r"^\s*#.*$", "", text[start:at], flags=re.M).strip()
            head = re.sub(r"^(template\s*<[^{}]*?>\s*)+(?=[\w:])", "", head)
            found = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
            opened = start + len(text[start:at]) - len(text[start:at].lstrip())
            stack.append((found.group(1) if found and not NOT_FUNCTIONS.match(head) else None, opened, start))
            start = at + 1
        elif character == "}" and stack:
            name, opened, before = stack.pop()
            if re.match(r"\s*[,{]", text[at + 1 :]) and name:  # a member's initializer: the body is still to come
                start = before
                continue
            start = at + 1
            if name and not any(outer for outer, _, _ in stack):
                first, last = text.count("\n", 0, opened) + 1, text.count("\n", 0, at) + 1
                yield name, first, last - first + 1


def measure(paths):
    files, bodies = [], []
    for path in paths:
        source = path.read_text(encoding="utf-8")
        name = str(path.relative_to(ROOT))
        files.append((source.count("\n"), name))
        if path.suffix != ".py":
            bodies += [(lines, f"{name}:{first} {function}") for function, first, lines in functions(source)]
    return sorted(files, reverse=True), sorted(bodies, reverse=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=5, help="how many of the largest to show")
    arguments = parser.parse_args()
    listed = subprocess.run(["git", "ls-files", "*.h", "*.hpp", "*.cc", "*.c", "*.cpp", "*.py", "*.inc"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    files, bodies = measure(ROOT / name for name in listed if (ROOT / name).exists())
    for title, rows, limit in (("files", files, FILE_LIMIT), ("functions", bodies, FUNCTION_LIMIT)):
        sizes = [size for size, _ in rows]
        print(f"{title}: {len(rows)}, {sum(sizes)} lines, median {sizes[len(sizes) // 2] if sizes else 0}, limit {limit}; largest:")
        for size, name in rows[: arguments.top]:
            print(f"  {size:5} {name}")
    over = [(size, name) for rows, limit in ((files, FILE_LIMIT), (bodies, FUNCTION_LIMIT)) for size, name in rows if size > limit]
    for size, name in over:
        print(f"over the limit: {size} lines, {name}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
