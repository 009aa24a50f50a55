#!/usr/bin/env python3
"""Draws throughput against length from the JSON of `speedlight bench`, with peers and the mma.sync ceiling of the same run.

    python3 benchmarks/plot.py bench.json [more.json ...] [--peers peers.json] [--output matrix.png]

One panel for each pass, head dim and mask. A peers file is a JSON list of {"d", "s", "causal", "<name>_tflops": [forward, backward]}.
Needs matplotlib, and nothing else that is not in Python.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path


def own_lines(path: Path):
    """(label, ceiling, {panel: [(seqlen, tflops)]}) of one bench file; wrong figures are left out."""
    run = json.loads(path.read_text())
    run = run.get("matrix", run) if "rows" not in run else run  # a report holds a bench
    lines = defaultdict(list)
    for row in run["rows"]:
        if row["correct"] and row.get("heads_q") == row.get("heads_kv"):
            lines[row["pass"], row["head_dim"], row["causal"]].append((row["seqlen"], row["tflops"]))
    label = f"Speedlight ({run['card']} rows on {run['machine']}, {run['commit']})"
    return label, run["ceiling_tflops"], lines


def peer_lines(path: Path):
    """{name: {panel: [(seqlen, tflops)]}} of a peers file."""
    peers = defaultdict(lambda: defaultdict(list))
    for row in json.loads(path.read_text()):
        for key, value in row.items():
            if not key.endswith("_tflops"):
                continue
            for name, tflops in zip(("forward", "backward"), value):
                peers[key.removesuffix("_tflops")][name, row["d"], row["causal"]].append((row["s"], tflops))
    return peers


def draw(panels, ceiling, curves, output: Path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = max(1, len({panel[1:] for panel in panels}))
    rows = max(1, len({panel[0] for panel in panels}))
    figure, axes = pyplot.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), squeeze=False, sharey=True)
    for axis, panel in zip(axes.flat, panels):
        kind, head_dim, causal = panel
        for label, style, lines in curves:
            points = sorted(lines.get(panel, []))
            if points:
                axis.plot(*zip(*points), style, label=label)
        axis.axhline(ceiling, color="gray", linestyle=":", label="mma.sync ceiling of the run")
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_title(f"{kind}, D {head_dim}, {'causal' if causal else 'no mask'}", fontsize=9)
        axis.set_xlabel("sequence length")
    for row in axes:
        row[0].set_ylabel("TFLOP/s")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", fontsize=8)
    figure.tight_layout(rect=(0, (0.25 + 0.17 * len(labels)) / (3.2 * rows), 1, 1))
    figure.savefig(output, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="+", type=Path, help="JSON of `speedlight bench --json` or of `speedlight report`")
    parser.add_argument("--peers", type=Path, help="JSON of peers measured in the same run")
    parser.add_argument("--output", type=Path, default=Path("throughput.png"))
    arguments = parser.parse_args()
    curves, ceilings = [], []
    for path in arguments.bench:
        label, ceiling, lines = own_lines(path)
        curves.append((label, "o-", lines))
        ceilings.append(ceiling)
    if arguments.peers:
        curves += [(name, "s--", lines) for name, lines in sorted(peer_lines(arguments.peers).items())]
    panels = sorted({panel for _, _, lines in curves[: len(arguments.bench)] for panel in lines}, key=lambda p: (p[0] != "forward", *p[1:]))
    if not panels:
        parser.error("no right figure in " + ", ".join(map(str, arguments.bench)))
    draw(panels, max(ceilings), curves, arguments.output)
    print(arguments.output)


if __name__ == "__main__":
    main()
