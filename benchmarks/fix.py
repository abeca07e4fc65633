"""The experiment of [FIX §8] in the small: all predicates incremental, against those that are not semi-naive naively.

`python benchmarks/fix.py [NAME ...]` computes each program from nothing in two ways and writes results/fix.txt. *All*
is the engine as it is. *Some* evaluates every recursion whose rows come and go (with negation, quantifiers or
aggregates inside) naively: each iteration computes the body of the recursion from all rows of the one before, by the
same engine and plans; recursions that only add are semi-naive in both. Counted is what the engine takes, in processor
time, up to a limit, and the rows that it visits. Both evaluations have to agree.
"""

from __future__ import annotations

import random
import re
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cases
import pyarrow as pa
from harness import report
from problems import CRDT, GALEN, sample

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.polarity import is_monotone
from deltic.circuit.tables import to_arrow
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.prepared import Prepared
from deltic.engine.refresh import Policy, Refresh

LIMIT = 10.0
"""Seconds of processor time that an evaluation may take."""
EXAMPLES = Path(__file__).parents[1] / "examples" / "recursions"
LIBRARY = {path.stem.replace("_", " ").capitalize(): path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.dl")}
Row = tuple[Any, ...]
Rows = frozenset[Row]
Tables = dict[str, Rows]


class OverTimeError(Exception):
    """The evaluation took more than the limit."""


@dataclass
class Meter:
    """What an evaluation has taken so far; `measure` adds to it."""

    seconds: float = 0.0
    visited: int = 0
    iterations: int = 0

    def measure(self, engine: IncrementalEngine, changes: Mapping[str, pa.Table]) -> Prepared:
        """An epoch, whose processor time counts."""
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, max(LIMIT - self.seconds, 0.01))
        prepared = engine.prepare(changes, "normalize")
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.seconds += time.process_time() - started
        self.visited += prepared.result.rows_visited
        return prepared


def stop(*_: object) -> None:
    raise OverTimeError


def new_engine(circuit: Circuit) -> IncrementalEngine:
    return IncrementalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL))


def batches(circuit: Circuit, tables: Tables) -> dict[str, pa.Table]:
    """The tables that a circuit reads, as changes."""
    schemas = {op.name: op.schema for op in circuit.operators if isinstance(op, ops.Source)}
    return {name: to_arrow(ZSet.of(tables[name]), schema) for name, schema in schemas.items() if tables[name]}


def loaded(circuit: Circuit, tables: Tables, meter: Meter) -> tuple[IncrementalEngine, Tables]:
    """An engine with these tables, and its views."""
    engine, given = new_engine(circuit), batches(circuit, tables)
    result = meter.measure(engine, given).commit()
    views = {name: rows_of(result.changes, name) for name in circuit.sinks}
    return engine, {name: frozenset(found) for name, found in views.items()}


def rows_of(changes: Mapping[str, pa.Table], name: str) -> Counter[Row]:
    """The change of a view."""
    if name not in changes:
        return Counter()
    *columns, weights = changes[name].to_pydict().values()
    found = dict(zip(zip(*columns, strict=True) if columns else [()] * len(weights), weights, strict=True))
    return Counter(found)


def naively(circuit: Circuit, tables: Tables, meter: Meter) -> Tables:
    """The views of a circuit, recursions whose rows come and go evaluated naively."""
    number = next((n for n, op in enumerate(circuit.operators) if _is_signed(op)), None)
    if number is None:
        return loaded(circuit, tables, meter)[1]
    fixpoint = circuit.nodes[number]
    assert isinstance(fixpoint.operator, ops.Fixpoint)
    below = CircuitBuilder()
    made = _copied(circuit, below, circuit.ancestors(fixpoint.inputs) | set(fixpoint.inputs), {})
    for place, inside in enumerate(fixpoint.inputs):
        below.add(ops.Sink(f"import {place}"), made[inside])
    _, given = loaded(below.build(), tables, meter)
    found = _iterated(fixpoint.operator.body, given, meter)
    results = {f"result {number} {name}": rows for name, rows in found.items()}
    components = {
        n: ops.Source(f"result {number} {node.operator.name}", circuit.type_of(n).schema)
        for n, node in enumerate(circuit.nodes)
        if isinstance(node.operator, ops.BundleRelation) and node.inputs == (number,)
    }
    rest = CircuitBuilder()
    _copied(circuit, rest, set(range(len(circuit.nodes))) - {number}, components)
    return naively(rest.build(), tables | results, meter)


def _is_signed(operator: ops.Operator) -> bool:
    return isinstance(operator, ops.Fixpoint) and not is_monotone(operator.body)


def _copied(
    circuit: Circuit, builder: CircuitBuilder, kept: set[int], sources: Mapping[int, ops.Source]
) -> dict[int, int]:
    """Nodes of a circuit in another one, some of them as sources."""
    made: dict[int, int] = {}
    for number, node in enumerate(circuit.nodes):
        if number in sources:
            made[number] = builder.add(sources[number])
        elif number in kept and all(i in made for i in node.inputs):
            made[number] = builder.add(node.operator, *(made[i] for i in node.inputs))
    return made


def _iterated(body: Circuit, given: Tables, meter: Meter) -> Tables:
    """The fixpoint of a body: each iteration from all rows of the one before; what reads no recursion is kept."""
    builder = CircuitBuilder()
    made: dict[int, int] = {}
    for number, node in enumerate(body.nodes):
        operator = node.operator
        if isinstance(operator, ops.Import):
            operator = ops.Source(f"import {operator.index}", operator.type.schema)
        elif isinstance(operator, ops.Feedback):
            operator = ops.Source(f"before {operator.name}", operator.schema)
        made[number] = builder.add(operator, *(made[i] for i in node.inputs))
    circuit = builder.build()
    names = [name.removeprefix("before ") for name in _sources(circuit) if name.startswith("before ")]
    engine, first = loaded(circuit, given | {f"before {name}": frozenset() for name in names}, meter)
    now: Tables = {name: frozenset() for name in circuit.sinks}
    following = first
    while following != now:
        now = following
        changes = batches(circuit, {n: frozenset() for n in _sources(circuit)} | {f"before {n}": now[n] for n in names})
        with meter.measure(engine, changes) as prepared:
            pass
        following = _moved(first, prepared.result.changes)
        meter.iterations += 1
    return now


def _sources(circuit: Circuit) -> list[str]:
    return [op.name for op in circuit.operators if isinstance(op, ops.Source)]


def _moved(first: Tables, changes: Mapping[str, pa.Table]) -> Tables:
    found = {}
    for name, rows in first.items():
        moved = rows_of(changes, name)
        found[name] = frozenset(rows - {r for r, w in moved.items() if w < 0} | {r for r, w in moved.items() if w > 0})
    return found


# Inputs: of graphs the nodes are numbers from 0.


def chain(count: int) -> list[Row]:
    return [(x, x + 1) for x in range(count - 1)]


def forest(count: int, seed: int = 1) -> list[Row]:
    """A random tree, from the root outward."""
    rng = random.Random(seed)
    return [(rng.randrange(x), x) for x in range(1, count)]


def layers(count: int, fan: int) -> list[Row]:
    """A graph without circles in which each node has edges to some of the next hundred."""
    rng = random.Random(2)
    return sorted({(x, rng.randrange(x + 1, min(count, x + 100))) for x in range(count - 1) for _ in range(fan)})


def circles(count: int, edges: int) -> list[Row]:
    """A random graph, with circles."""
    rng = random.Random(3)
    return sorted({(rng.randrange(count), rng.randrange(count)) for _ in range(edges)})


def grid(side: int) -> list[Row]:
    steps = [(i, j, a, b) for i in range(side) for j in range(side) for a, b in ((0, 1), (1, 0))]
    edges = [(i * side + j, (i + a) * side + j + b) for i, j, a, b in steps if i + a < side and j + b < side]
    return [edge for x, y in edges for edge in ((x, y), (y, x))]


def python_imports() -> list[Row]:
    """Which module of Python's standard library imports which, by its sources."""
    folder = Path(statistics.__file__).parent
    texts = {p.stem: p.read_text(encoding="utf-8", errors="replace") for p in sorted(folder.glob("*.py"))}
    numbers = {name: number for number, name in enumerate(texts)}
    found = ((a, re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.MULTILINE)) for a, text in texts.items())
    return sorted({(numbers[a], numbers[b]) for a, names in found for b in names if b in numbers and a != b})


def nodes(edges: Sequence[Row]) -> list[Row]:
    return [(x,) for x in sorted({x for edge in edges for x in edge[:2]})]


def weighted(edges: Sequence[Row], weights: Sequence[int]) -> list[Row]:
    rng = random.Random(4)
    return [(x, y, rng.choice(weights)) for x, y in edges]


def shares(count: int) -> list[Row]:
    """Three owners of each company among the ones before it."""
    rng = random.Random(5)
    found = {(rng.randrange(y), y): rng.choice((20, 30, 40, 60)) for y in range(1, count) for _ in range(3)}
    return [(x, y, s) for (x, y), s in found.items()]


def routine(count: int, loop: int) -> dict[str, list[Row]]:
    """A program of so many points: every `loop` points one jumps back to where a loop begins."""
    rng = random.Random(6)
    back = [(p, p - loop // 2) for p in range(loop, count, loop)]
    variables = range(8)
    return {
        "entry": [(0,)],
        "next": [*chain(count), *back],
        "variable": [(v,) for v in variables],
        "set": [(p, rng.choice(variables), rng.randrange(9)) for p in range(count) if p < 8 or rng.random() < 0.2],
        "add": [(p, *(rng.choice(variables) for _ in range(3))) for p in range(8, count) if rng.random() < 0.2],
        "head": [(q,) for _, q in back],
        "step": [(p, rng.choice(variables), rng.randrange(-3, 4)) for p in range(8, count) if rng.random() < 0.2],
        "atmost": [(p, q, v, rng.randrange(100)) for p, q in back for v in variables[:2]],
    }


@dataclass(frozen=True)
class Case:
    """A program with its tables; `kind` is what stands in its recursion."""

    name: str
    kind: str
    text: str
    tables: Callable[[], Mapping[str, Sequence[Row]]] = field(repr=False)


def _graphs(heading: str, kind: str, edge: str, inputs: Mapping[str, Callable[[], list[Row]]]) -> Iterator[Case]:
    for data, make in inputs.items():

        def tables(make: Callable[[], list[Row]] = make) -> dict[str, list[Row]]:
            return {edge: (found := make()), "node": nodes(found)}

        yield Case(f"{heading}, {data}", kind, LIBRARY[heading], tables)


def of_library() -> Iterator[Case]:
    """The programs of examples/recursions."""
    trees = {
        "a chain of 250": lambda: chain(250),
        "a chain of 500": lambda: chain(500),
        "a chain of 1,000": lambda: chain(1_000),
        "a chain of 2,000": lambda: chain(2_000),
        "a tree": lambda: forest(20_000),
        "layers": lambda: layers(5_000, 3),
        "circles": lambda: circles(5_000, 5_000),
        "imports of Python": python_imports,
    }
    few = {name: make for name, make in trees.items() if name not in ("a chain of 250", "a chain of 500", "circles")}
    yield from _graphs("Every path ends", "quantifier", "child", trees)
    yield from _graphs("Heights", "aggregate, quantifier", "child", few)
    yield from _graphs("Games", "quantifiers", "move", few)
    graphs = {
        "a chain": lambda: chain(1_000),
        "a grid": lambda: grid(30),
        "circles": lambda: circles(2_000, 4_000),
        "imports of Python": python_imports,
    }
    yield from _graphs("Connected components", "aggregate", "edge", graphs)
    for data, make in graphs.items():

        def streets(make: Callable[[], list[Row]] = make) -> dict[str, list[Row]]:
            return {"edge": weighted(make(), range(1, 10))}

        yield Case(f"Shortest paths, {data}", "aggregate", LIBRARY["Shortest paths"], streets)
    control, bill = LIBRARY["Company control"], LIBRARY["Cost of a bill of materials"]
    yield Case("Company control, 300", "aggregate", control, lambda: {"owns": shares(300)})
    yield Case("Company control, 1,000", "aggregate", control, lambda: {"owns": shares(1_000)})
    for data, make in few.items():

        def parts(make: Callable[[], list[Row]] = make) -> dict[str, list[Row]]:
            found = make()
            return {"part": [(x, 1 + x % 9) for (x,) in nodes(found)], "needs": [(x, y, 1) for x, y in found]}

        if data != "layers":  # costs grow beyond 64 bits
            yield Case(f"Bill of materials, {data}", "aggregate, quantifier", bill, parts)
    yield Case(
        "Constant propagation, 100 points", "aggregates", LIBRARY["Constant propagation"], lambda: routine(100, 20)
    )
    yield Case(
        "Constant propagation, no loops", "aggregates", LIBRARY["Constant propagation"], lambda: routine(100, 999)
    )
    yield Case("Intervals, 100 points", "aggregates", LIBRARY["Intervals"], lambda: routine(100, 20))
    yield Case("Intervals, small loops", "aggregates", LIBRARY["Intervals"], lambda: routine(60, 6))
    yield Case("Dominators, a grid", "none", LIBRARY["Dominators"], lambda: {"edge": grid(10)})


PLAIN = ("closure", "csda", "components", "reachability", "unreached", "negation", "andersen")


def of_benchmarks() -> Iterator[Case]:
    """Programs whose recursions only add: of benchmarks/cases.py, and those of ../shared/data."""
    for case in cases.CASES:
        if case.program in PLAIN and "text" not in case.program:

            def tables(case: cases.Case = case) -> dict[str, list[Row]]:
                return {name: _some(found) for name, found in case.generate().items()}

            yield Case(case.name, "none", case.text, tables)
    for problem in (CRDT, GALEN):

        def real(problem: Any = problem) -> dict[str, list[Row]]:
            with TemporaryDirectory() as folder:
                problem.unpack(Path(folder))
                return {name: _some(found) for name, found in sample(problem.read(Path(folder)), 20_000, 1).items()}

        yield Case(f"{problem.name}, a sample", "none", problem.program, real)


def _some(found: pa.Table, most: int = 20_000) -> list[Row]:
    return list(zip(*found.slice(0, most).to_pydict().values(), strict=True))


def evaluated(case: Case) -> tuple[Meter, Meter | None, Meter | None]:
    """What the evaluation of a case takes with all predicates incremental, and with some of them; None: over time."""
    circuit = lower(check([parse(case.text)]))
    given = case.tables()
    tables = {n: frozenset(given.get(n, ())) for n in _sources(circuit)}
    views: list[Any] = []
    meters: list[Meter | None] = []
    last = Meter()
    for evaluate in (lambda c, t, m: loaded(c, t, m)[1], naively):
        last = Meter()
        try:
            views.append(evaluate(circuit, tables, last))
            meters.append(repeated(partial(evaluate, circuit, tables), last))
        except OverTimeError:
            signal.setitimer(signal.ITIMER_PROF, 0)
            meters.append(None)
    if len(views) == 2 and views[0] != views[1]:
        raise AssertionError(f"{case.name}: the views differ")
    both, some = meters
    return last, both, some


def repeated(evaluate: Callable[[Meter], Tables], first: Meter) -> Meter:
    """The median of as many evaluations, after a first, as half a second has room for."""
    meters = [first]
    if first.seconds < 0.5:
        meters = []
        while len(meters) < 100 and sum(m.seconds for m in meters) < 0.5:
            meters.append(Meter())
            evaluate(meters[-1])
    return replace(first, seconds=statistics.median(m.seconds for m in meters))


def line(case: Case) -> tuple[list[str], float]:
    """The cells of a case, and how many times as long some take as all: 0 and infinite for over time.

    1 where no recursion is evaluated naively, so that both are the same.
    """
    last, both, some = evaluated(case)
    if not last.iterations or (both is None and some is None):
        ratio = 1.0
    else:
        ratio = 0.0 if both is None else float("inf") if some is None else some.seconds / both.seconds
    seconds = [f"{m.seconds:.3f}" if m else f"over {LIMIT:.0f}" for m in (both, some)]
    visited = [f"{m.visited:,}" if m else "" for m in (both, some)]
    return [case.name, case.kind, f"{last.iterations:,}", *seconds, *visited, f"{ratio:.2f}"], ratio


HEADER = ("program", "in recursions", "naive iterations", "all: s", "some: s", "all: rows", "some: rows", "some / all")


def main(wanted: Sequence[str]) -> None:
    signal.signal(signal.SIGPROF, stop)
    rows, ratios = [], {}
    for case in [*of_library(), *of_benchmarks()]:
        if not wanted or any(word in case.name for word in wanted):
            cells, ratio = line(case)
            ratios[case.name] = ratio
            rows.append(cells)
            print("  ".join(cells), flush=True)
    if not wanted:
        report("fix", __doc__.splitlines()[0], HEADER, rows, notes(ratios))


def notes(ratios: Mapping[str, float]) -> str:
    """The table of [FIX §8]: how many are over time in one and not in the other, slower, faster; the worst."""
    counts = {
        "over time with some incremental, not with all": sum(r == float("inf") for r in ratios.values()),
        "over time with all incremental, not with some": sum(r == 0 for r in ratios.values()),
        "faster with all, by more than 10 %": sum(1.1 < r < float("inf") for r in ratios.values()),
        "the same within 10 %": sum(0.9 <= r <= 1.1 for r in ratios.values()),
        "slower with all, by more than 10 %": sum(0 < r < 0.9 for r in ratios.values()),
    }
    worst = sorted((r, name) for name, r in ratios.items() if r < 0.9)[:8]
    lines = [f"{count:4} of {len(ratios)} {what}" for what, count in counts.items()]
    lines += [f"     worst: {name}, {1 / r:.1f} times as slow" for r, name in worst if r]
    remark = "Processor time; of less than half a second the median of several evaluations."
    return "\n".join([*lines, "", remark])


if __name__ == "__main__":
    main(sys.argv[1:])
