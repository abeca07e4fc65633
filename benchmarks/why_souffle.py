"""Heights of explanations beside those of Soufflé's `-t explain`, for rows of programs over random tables.

`python benchmarks/why_souffle.py` needs `souffle` on the PATH, or its path by `--souffle`. Both explain the same rows.
A height counts the rules from a row down to rows of tables, on the longest path.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import report

import deltic
from deltic import Pipeline

PROGRAMS = Path(__file__).parent / "programs"
TABLES: dict[str, dict[str, tuple[int, ...]]] = {
    "closure": {"arc": (60, 90)},
    "reachability": {"source": (60, 1), "arc": (60, 90)},
    "same_generation": {"arc": (60, 60)},
    "andersen": {"address": (40, 25), "assign": (40, 40), "load": (40, 15), "store": (40, 15)},
    "csda": {"null": (80, 10), "arc": (80, 110)},
    "cspa": {"assign": (30, 30), "dereference": (30, 20)},
    "dyck": {"open": (20, 25, 2), "close": (20, 25, 2)},
    "negation": {"arc": (60, 60), "blocked": (60, 10)},
}
"""For each program its tables: the number of values, of rows, and of values of a third column."""
SEEDS = range(3)
MOST = 30
"""Rows of each view."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--souffle", default="souffle")
    souffle = parser.parse_args().souffle
    lines = []
    for name in TABLES:
        pairs = [pair for seed in SEEDS for pair in compared(name, seed, souffle)]
        ours, theirs = zip(*pairs, strict=True)
        counts = [sum(a < b for a, b in pairs), sum(a == b for a, b in pairs), sum(a > b for a, b in pairs)]
        means = [f"{statistics.mean(heights):.2f}" for heights in (ours, theirs)]
        lines.append([name, len(pairs), *counts, *means, max(ours), max(theirs)])
    header = ["program", "rows", "lower", "same", "higher", "mean", "Soufflé", "most", "Soufflé"]
    report("why-souffle", "Heights of Deltic's explanations beside Soufflé's", header, lines)


def compared(name: str, seed: int, souffle: str) -> list[tuple[int, int]]:
    """The heights of the same rows: Deltic's, Soufflé's."""
    text, rng = (PROGRAMS / f"{name}.dl").read_text(), random.Random(seed)
    pipeline = Pipeline()
    pipeline.datalog(text)
    facts = {table: rows_of(rng, len(pipeline.tables[table]), *size) for table, size in TABLES[name].items()}
    with pipeline.transaction() as change:
        for table, rows in facts.items():
            change.insert(table, rows)
    asked = [(view, tuple(row)) for view in pipeline.views for row in pipeline[view]]
    asked = rng.sample(sorted(asked), min(MOST * len(pipeline.views), len(asked)))
    ours = [height(pipeline.why(view, row).root) for view, row in asked]
    return list(zip(ours, by_souffle(souffle, text, facts, asked), strict=True))


def rows_of(rng: random.Random, columns: int, values: int, count: int, third: int = 0) -> list[tuple[int, ...]]:
    """Random rows of a table."""
    sizes = [values, values, third][:columns]
    return sorted({tuple(map(rng.randrange, sizes)) for _ in range(count)})


def height(step: deltic.why.ExplanationStep) -> int:
    """The number of rules on the longest path; a view of a table's own rows is none."""
    return 1 + max(map(height, step.steps)) if step.steps else int(step.by != "table")


def by_souffle(
    souffle: str,
    text: str,
    facts: dict[str, list[tuple[int, ...]]],
    asked: Sequence[tuple[str, tuple[int, ...]]],
) -> list[int]:
    """The heights of Soufflé's proof trees."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.dl").write_text(text)
        for table, rows in facts.items():
            lines = "".join("\t".join(map(str, row)) + "\n" for row in rows)
            (Path(folder) / f"{table}.facts").write_text(lines)
        questions = "".join(f"explain {view}({', '.join(map(str, row))})\n" for view, row in asked)
        command = [souffle, "-t", "explain", "-F", folder, "-D", folder, str(Path(folder) / "program.dl")]
        given = f"setdepth 100000\nformat json\n{questions}exit\n"
        output = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    return [deepest(proof) for proof in output.split('"proof":')[1:]]


def deepest(proof: str) -> int:
    """The most rules on a path of a proof tree in Soufflé's JSON, whose strings have line breaks."""
    depth = most = 0
    opened: list[bool] = []
    tree = proof.split('"rules": [')[0]
    for i, letter in enumerate(tree):
        if letter == "{":
            opened.append(tree[i + 1 :].lstrip().startswith('"premises"'))
            depth += opened[-1]
            most = max(most, depth)
        elif letter == "}" and opened:
            depth -= opened.pop()
    return most


if __name__ == "__main__":
    main()
