"""Ordinary programs on ordinary, skewed and long data: what `pathologies` and `flowlog` measure.

A program is a file of `programs/`, in the Datalog that Deltic and FlowLog both read; where FlowLog writes aggregates
in another way, its own is beside it (`NAME.flowlog.dl`), and so is a query for DuckDB where SQL can say it. Data are
random, of fixed seeds; sizes are such that an engine that visits no more than it must takes about a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PROGRAMS = Path(__file__).parent / "programs"
Tables = dict[str, pa.Table]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """A program with its data; `view` is what it computes, `changing` the table whose rows come and go."""

    program: str
    data: str
    view: str
    changing: str
    tables: Callable[[np.random.Generator], Tables]

    @property
    def name(self) -> str:
        return f"{self.program}, {self.data}" if self.data else self.program

    @property
    def text(self) -> str:
        """The program."""
        return (PROGRAMS / f"{self.program}.dl").read_text(encoding="utf-8")

    @property
    def query(self) -> str | None:
        """The view as a query of DuckDB, if there is one."""
        path = PROGRAMS / f"{self.program}.sql"
        return path.read_text(encoding="utf-8") if path.exists() else None

    def generate(self) -> Tables:
        """The tables, the same each time."""
        return self.tables(np.random.default_rng(11))


def table(**columns: Any) -> pa.Table:
    """A table of int32 columns without repeated rows, in random order."""
    rows = np.unique(np.stack([np.asarray(c, np.int64) for c in columns.values()], axis=1), axis=0)
    rows = np.random.default_rng(len(rows)).permutation(rows)
    return pa.table({name: rows[:, i].astype(np.int32) for i, name in enumerate(columns)})


def named(tables: Tables) -> Tables:
    """The same tables with a name for each number."""
    return {
        name: pa.table(
            {c: pa.array([f"https://example.org/node/{v}" for v in t[c].to_pylist()]) for c in t.column_names}
        )
        for name, t in tables.items()
    }


def arcs(random: np.random.Generator, nodes: int, count: int) -> tuple[Ints, Ints]:
    """Random arcs, every node as likely as any other."""
    x, y = random.integers(0, nodes, (2, count))
    return x, y


def hubs(random: np.random.Generator, nodes: int, count: int, many: int, degree: int) -> tuple[Ints, Ints]:
    """Random arcs, and `many` nodes with so many arcs to them, and so many from them, beside."""
    x, y = arcs(random, nodes, count)
    hub = np.repeat(random.integers(0, nodes, many), degree)
    ins, outs = random.integers(0, nodes, (2, many * degree))
    return np.concatenate([x, ins, hub]), np.concatenate([y, hub, outs])


def chain(nodes: int) -> tuple[Ints, Ints]:
    """One arc from each node to the next."""
    x = np.arange(nodes - 1)
    return x, x + 1


def ascending(x: Ints, y: Ints) -> tuple[Ints, Ints]:
    """The arcs, each from its lesser end to its greater one; loops are left out."""
    kept = x != y
    return np.minimum(x, y)[kept], np.maximum(x, y)[kept]


def graph(x: Ints, y: Ints) -> pa.Table:
    return table(x=x, y=y)


def just_arcs(make: Callable[[np.random.Generator], tuple[Ints, Ints]]) -> Callable[[np.random.Generator], Tables]:
    """Tables of one graph."""
    return lambda random: {"arc": graph(*make(random))}


def reachable(nodes: int, count: int) -> Callable[[np.random.Generator], Tables]:
    return lambda random: {
        "arc": graph(*arcs(random, nodes, count)),
        "source": table(x=random.integers(0, nodes, 10)),
    }


def reachable_chains(nodes: int) -> Callable[[np.random.Generator], Tables]:
    return lambda random: {"arc": graph(*chain(nodes)), "source": table(x=[0])}


def generations(parents: Ints) -> pa.Table:
    """A forest: arcs from the parent of each node but the first to it."""
    return graph(parents, np.arange(1, len(parents) + 1))


def binary_tree(nodes: int) -> Ints:
    return (np.arange(1, nodes) - 1) // 2


def statements(random: np.random.Generator) -> Tables:
    """Statements of functions of twenty variables; one operand in twenty is from another function."""
    variables = 96_000

    def pairs(count: int) -> dict[str, Ints]:
        y = random.integers(0, variables, count)
        near = y // 20 * 20 + random.integers(0, 20, count)
        return {"y": y, "x": np.where(random.random(count) < 0.05, random.integers(0, variables, count), near)}

    return {
        "address": table(**pairs(variables // 2)),
        "assign": table(**pairs(variables // 2)),
        "load": table(**pairs(variables // 10)),
        "store": table(**pairs(variables // 10)),
    }


def flows(random: np.random.Generator) -> Tables:
    """Assignments within functions of sixty variables, to one of the next; few from function to function.

    One variable in three is dereferenced; a name stands for the value that it points to.
    """
    variables, size = 6_000, 60
    y = random.integers(0, variables, variables)
    x = y // size * size + np.minimum(y % size + random.integers(1, 6, variables), size - 1)
    far = random.random(variables) < 0.01
    x = np.where(far, random.integers(0, variables, variables), x)
    pointers = random.integers(0, variables, variables // 3)
    values = pointers // size * size + random.integers(0, size, len(pointers))
    return {"assign": table(x=x, y=y), "dereference": table(x=pointers, y=values)}


def nulls(random: np.random.Generator) -> Tables:
    """Procedures of two hundred statements: control flow goes to the next ones, seldom elsewhere."""
    statements, size = 200_000, 200
    x = np.repeat(np.arange(statements), 2)
    y = x + random.integers(1, 4, len(x))
    inside = x // size == y // size
    calls = random.integers(0, statements, (2, statements // 500))
    return {
        "arc": graph(np.concatenate([x[inside], calls[0]]), np.concatenate([y[inside], calls[1]])),
        "null": table(x=np.arange(4_000), y=random.integers(0, statements, 4_000)),
    }


def brackets(random: np.random.Generator) -> Tables:
    nodes, count = 1_500, 1_800

    def kinds() -> dict[str, Ints]:
        x, y = arcs(random, nodes, count)
        return {"x": x, "y": y, "kind": random.integers(0, 3, count)}

    return {"open": table(**kinds()), "close": table(**kinds())}


def skewed_triangles(random: np.random.Generator) -> tuple[Ints, Ints]:
    return ascending(*hubs(random, 60_000, 300_000, 8, 10_000))


def islands(random: np.random.Generator) -> tuple[Ints, Ints]:
    """Components of at most eighty nodes."""
    x = random.integers(0, 30_000, 45_000)
    return x, x // 80 * 80 + random.integers(0, 80, len(x))


def pairs_apart(random: np.random.Generator) -> Tables:
    nodes = 1_500
    return {"arc": graph(*arcs(random, nodes, nodes * 5 // 4)), "node": table(x=np.arange(nodes))}


def blocked(random: np.random.Generator) -> Tables:
    return {
        "arc": graph(*arcs(random, 1_000_000, 1_500_000)),
        "blocked": table(x=random.integers(0, 1_000_000, 200_000)),
    }


def weighed(make: Callable[[np.random.Generator], tuple[Ints, Ints]]) -> Callable[[np.random.Generator], Tables]:
    """The arcs with weights, no two the same, so that a sum is one of different numbers for everyone."""

    def tables(random: np.random.Generator) -> Tables:
        x, y = make(random)
        rows = np.unique(np.stack([x, y], axis=1), axis=0)
        return {"arc": table(x=rows[:, 0], y=rows[:, 1], w=random.permutation(len(rows)))}

    return tables


def unconnected(random: np.random.Generator) -> Tables:
    return {"i": table(x=np.arange(500_000)), "n": table(x=np.arange(300_000))}


def marked(make: Callable[[np.random.Generator], tuple[Ints, Ints]]) -> Callable[[np.random.Generator], Tables]:
    def tables(random: np.random.Generator) -> Tables:
        x, y = make(random)
        return {"arc": graph(x, y), "mark": table(x=random.choice(int(x.max()), 2_000, replace=False))}

    return tables


def read_by_six(random: np.random.Generator) -> Tables:
    a, b, keys = random.integers(0, 60_000, (2, 250_000)), random.integers(0, 60_000, (2, 250_000)), np.arange(60_000)
    return {
        "a": table(x=a[0], y=a[1]),
        "b": table(y=b[0], z=b[1]),
        "k": table(z=keys, kind=random.integers(1, 7, len(keys))),
    }


def broad(random: np.random.Generator) -> Tables:
    """Two tables of six columns; eleven of the values do not fit into one word."""

    def columns(name: str) -> dict[str, Ints]:
        values = random.integers(0, 1 << 24, (5, 300_000))
        return {"k": random.integers(0, 150_000, 300_000)} | {f"{name}{i + 1}": values[i] for i in range(5)}

    return {"a": table(**columns("a")), "b": table(**columns("b"))}


def _hubs_of_ten_thousand(random: np.random.Generator) -> tuple[Ints, Ints]:
    return hubs(random, 40_000, 120_000, 4, 10_000)


CASES = (
    Case("reachability", "random", "reached", "arc", reachable(500_000, 1_500_000)),
    Case("reachability", "chain", "reached", "arc", reachable_chains(20_000)),
    Case("reachability_text", "random", "reached", "arc", lambda r: named(reachable(150_000, 450_000)(r))),
    Case("closure", "random", "path", "arc", just_arcs(lambda r: arcs(r, 2_000, 4_000))),
    Case("closure", "chain", "path", "arc", just_arcs(lambda r: chain(2_000))),
    Case("same_generation", "random", "same", "arc", just_arcs(lambda r: ascending(*arcs(r, 30_000, 45_000)))),
    Case("same_generation", "skewed", "same", "arc", just_arcs(lambda r: ascending(*hubs(r, 20_000, 4_000, 3, 400)))),
    Case("ground_query", "tree", "answer", "arc", lambda r: {"arc": generations(binary_tree(32_767))}),
    Case("andersen", "", "points", "assign", statements),
    Case("cspa", "", "alias", "assign", flows),
    Case("csda", "", "flows", "arc", nulls),
    Case("dyck", "", "dyck", "open", brackets),
    Case("triangles", "random", "triangle", "arc", just_arcs(lambda r: ascending(*arcs(r, 20_000, 700_000)))),
    Case("triangles", "skewed", "triangle", "arc", just_arcs(skewed_triangles)),
    Case("triangles_text", "random", "triangle", "arc", lambda r: named({"arc": graph(*arcs(r, 8_000, 200_000))})),
    Case("cycles", "random", "cycle", "arc", just_arcs(lambda r: arcs(r, 15_000, 200_000))),
    Case("cliques", "random", "clique", "arc", just_arcs(lambda r: ascending(*arcs(r, 2_000, 120_000)))),
    Case("components", "islands", "component", "arc", just_arcs(islands)),
    Case("unreached", "random", "apart", "arc", pairs_apart),
    Case("negation", "random", "ends", "arc", blocked),
    Case("aggregates", "random", "total", "arc", weighed(lambda r: arcs(r, 100_000, 1_500_000))),
    Case("weights", "skewed", "total", "arc", weighed(_hubs_of_ten_thousand)),
    Case("existential", "", "o", "n", unconnected),
    Case("two_hops", "random", "o", "arc", just_arcs(lambda r: arcs(r, 200_000, 1_500_000))),
    Case("two_hops", "skewed", "o", "arc", just_arcs(_hubs_of_ten_thousand)),
    Case("three_hops", "random", "o", "arc", marked(lambda r: arcs(r, 30_000, 300_000))),
    Case("three_hops", "skewed", "o", "arc", marked(_hubs_of_ten_thousand)),
    Case("readers", "", "r", "a", read_by_six),
    Case("wide", "", "o", "a", broad),
)
BY_NAME = {case.name: case for case in CASES}
