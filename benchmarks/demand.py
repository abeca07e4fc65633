"""Recursions that derive what is asked of them: rows visited with and without, also where it does not pay.

`python benchmarks/demand.py` runs same generation over trees, and transitive closure over a random graph in three
forms: from one node, for the nodes in a table, and for all nodes. Each begins with all edges; then an edge goes and
comes back, and where a table asks, a row of it does. `whole` are relations declared `no_magic`, `asked` such that are
declared `magic`.
"""

from __future__ import annotations

import random

import pyarrow as pa
from epochs import epoch
from harness import report

import deltic

Pairs = list[tuple[int, int]]

TABLES = """.decl e(x: number, y: number)
.decl ask(x: number)
.input e
.input ask
.decl r(x: number, y: number) {hint}
"""
GENERATION = TABLES + "r(x, y) :- e(x, p), e(y, p).\nr(x, y) :- e(x, u), r(u, v), e(y, v).\n"
CLOSURE = TABLES + "r(x, y) :- e(x, y).\n"
FORMS = {
    "left": "r(x, z) :- r(x, y), e(y, z).\n",
    "right": "r(x, z) :- e(x, y), r(y, z).\n",
    "both": "r(x, z) :- r(x, y), r(y, z).\n",
}
BY_TABLE = ".decl q(x: number, y: number)\nq(x, y) :- ask(x), r(x, y).\n"
FROM_ONE = ".decl q(y: number)\nq(y) :- r(0, y).\n"
WHOLE, MAGIC = 'no_magic\n.pragma "hidden" "r"', "magic"


def tree(depth: int) -> Pairs:
    """The edges of a binary tree, from child to parent."""
    return [(child, (child - 1) // 2) for child in range(1, 2**depth - 1)]


def graph(nodes: int, edges: int) -> Pairs:
    """A random graph."""
    rng = random.Random(1)
    return sorted({(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(edges)})


def table(**columns: list[int]) -> pa.Table:
    """Rows of numbers."""
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


def measure(program: str, hint: str, edges: Pairs, asked: list[int]) -> list[object]:
    """The rows visited: to begin with, for an edge that goes and comes, and for a row of what is asked that does."""
    pipeline = deltic.Pipeline(maintenance=deltic.Maintenance(refresh="incremental"))
    pipeline.datalog(program.format(hint=hint))
    xs, ys = map(list, zip(*edges, strict=True))
    tables = {"e": table(x=xs, y=ys), "ask": table(x=asked)}
    found: list[int | None] = [epoch(pipeline, "insert", tables).visited]
    for name, count in (("e", 3), ("ask", min(1, len(asked)))):
        parts = [tables[name].slice(len(tables[name]) * i // 4, 1) for i in range(count)]
        epochs = [epoch(pipeline, action, {name: part}) for part in parts for action in ("delete", "insert")]
        found.append(max((e.visited for e in epochs), default=None))
    return ["-" if visited is None else f"{visited:,}" for visited in found]


def rows_of(name: str, program: str, edges: Pairs, asked: list[int], whole: bool = True) -> list[list[object]]:
    """The two lines of the table for a program; one, where the whole is too large."""
    lines: list[list[object]] = []
    for label, hint in (("whole", WHOLE), ("asked", MAGIC))[0 if whole else 1 :]:
        lines.append([name, label, *measure(program, hint, edges, asked)])
    return lines


def main() -> None:
    """Run all and write the table."""
    lines: list[list[object]] = []
    for depth in (9, 10, 15):
        edges = tree(depth)
        name = f"same generation, tree of {2**depth - 1:,}"
        one, other = 2**depth - 3, 2**depth - 4 - 2 ** (depth - 2)
        ground = GENERATION + f".decl q()\nq() :- r({one}, {other}).\n"
        lines += rows_of(f"{name}: one pair", ground, edges, [], depth < 15)
        lines += rows_of(f"{name}: a table of one", GENERATION + BY_TABLE, edges, [one], depth < 15)
    edges, nodes = graph(200, 500), list(range(200))
    for form, rule in FORMS.items():
        lines += rows_of(f"closure, {form}: from one node", CLOSURE + rule + FROM_ONE, edges, [])
        lines += rows_of(f"closure, {form}: a table of one", CLOSURE + rule + BY_TABLE, edges, [0])
        lines += rows_of(f"closure, {form}: a table of all", CLOSURE + rule + BY_TABLE, edges, nodes)
    header = ["program", "recursion", "bootstrap", "an edge (worst of 6)", "what is asked (of 2)"]
    notes = "Rows visited. Closure: 200 nodes, 500 random edges. left: r(x, z) :- r(x, y), e(y, z); right: r(x, z) :-\n"
    notes += "e(x, y), r(y, z); both: r(x, z) :- r(x, y), r(y, z). No row of what is asked: `-`. Refresh: incremental."
    report("demand", "Recursions that derive what is asked of them", header, lines, notes)


if __name__ == "__main__":
    main()
