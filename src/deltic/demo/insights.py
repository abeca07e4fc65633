"""An epoch's changes in words: import cycles, dead code, tests concerned, modules affected.

After each insight comes an explanation of one of its rows: the facts that support it, or the missing ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass

import pyarrow as pa

from deltic.demo.extract import Row
from deltic.demo.tree import TreeChange
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.session import Pipeline


@dataclass(frozen=True)
class Observation:
    """What insights are drawn from: the change of the facts, that of the views, and the views as they are now."""

    facts: TreeChange
    change: Transaction
    pipeline: Pipeline

    def appeared(self, view: str) -> list[Row]:
        return [row for row, weight in self.change.of(view) if weight > 0]

    def disappeared(self, view: str) -> list[Row]:
        return [row for row, weight in self.change.of(view) if weight < 0]


def insights(observed: Observation) -> tuple[str, ...]:
    """Return a few sentences about an epoch, the most striking ones; none when nothing worth telling happened."""
    return (*_cycles(observed), *_dead_code(observed), *_tests(observed), *_affected(observed))


def first_insights(pipeline: Pipeline) -> tuple[str, ...]:
    """Return a few sentences about the initial state."""
    dead, in_cycle = pipeline["dead"], pipeline["in_cycle"]
    sentences = [f"functions that nothing reaches: {len(dead):,}; modules in import cycles: {len(in_cycle):,}"]
    if dead:
        sentences.append(_because_without(pipeline, "alive", [(row.function,) for row in dead]))
    if in_cycle:
        sentences.append(_because_of(pipeline, "import_cycle", [*pipeline["import_cycle"]]))
    if len(pipeline["affects"]):
        module, count = _most_frequent(pipeline["affects"].to_arrow()["changed"])
        sentences.append(f"a change to {module} can affect {_modules(count)}, more than any other")
        sentences.append(_because_of(pipeline, "affects", [*pipeline["affects"].lookup(changed=module)]))
    if len(pipeline["reaches"]):
        function, count = _most_frequent(pipeline["reaches"].to_arrow()["function"])
        sentences.append(f"{function} is reached by {_counted(range(count))}, more than any other function")
        sentences.append(_because_of(pipeline, "reaches", [*pipeline["reaches"].lookup(function=function)]))
    return tuple(sentences)


def _because_of(pipeline: Pipeline, view: str, rows: Collection[Row], new: Collection[object] = ()) -> str:
    """Return the `new` facts on which the first of the rows rests; where there are none, some on which it rests."""
    row = _first(rows)
    leaves = pipeline.why(view, row).leaves()
    facts = [leaf for leaf in leaves if leaf in new] or leaves
    shown = [f"{table}({', '.join(map(str, values))})" for table, values in facts]
    return f"{_WORDS[view].format(*row)} because of {_listed(shown)}"


def _because_without(pipeline: Pipeline, view: str, rows: Collection[Row]) -> str:
    """Return what fails for the first of the missing rows, in the rule that comes nearest to it."""
    row = _first(rows)
    way = max(pipeline.why_not(view, row).ways, key=lambda way: len(way.holds))
    return f"{_WORDS_NOT[view].format(*row)} because there is {way.fails}"


_WORDS = {
    "alive": "{} is alive",
    "import_cycle": "{} and {} are in a cycle",
    "affects": "a change to {} can affect {}",
    "reaches": "{} reaches {}",
}
_WORDS_NOT = {
    "alive": "{} is dead",
    "import_cycle": "{} and {} are in no cycle",
    "affects": "a change to {} cannot affect {}",
    "reaches": "{} does not reach {}",
}


def _first(rows: Collection[Row]) -> Row:
    """Return the first row in order, after it those that relate something to itself."""
    return min(rows, key=lambda row: [str(row[0] == row[-1]), *map(str, row)])


def _most_frequent(values: pa.ChunkedArray) -> tuple[str, int]:
    """Return the value that occurs most often, the alphabetically first of them, and how often."""
    counted = zip(*(column.to_pylist() for column in values.value_counts().flatten()), strict=True)
    return min(counted, key=lambda pair: (-pair[1], pair[0]))


def _cycles(observed: Observation) -> Iterator[str]:
    appeared, disappeared = observed.appeared("import_cycle"), observed.disappeared("import_cycle")
    if not appeared and not disappeared:
        return
    now = _load_edges(observed.pipeline["imports"])
    before = (now - _load_edges(observed.appeared("imports"))) | _load_edges(observed.disappeared("imports"))
    for words, pairs, edges in (
        ("an import cycle appears", appeared, now),
        ("an import cycle is gone", disappeared, before),
    ):
        if pairs:
            modules = {name for pair in pairs for name in pair}
            cycle = _shortest_cycle(pairs, edges)
            yield f"{words}: {' → '.join(map(str, cycle))} ({_modules(len(modules))} in it)"
    if appeared:
        yield _because_of(observed.pipeline, "import_cycle", appeared, {*observed.facts.inserted})
    else:
        yield _because_without(observed.pipeline, "import_cycle", disappeared)


def _load_edges(imports: Iterable[Row]) -> set[Row]:
    return {(m, n) for m, n, when in imports if when == "load"}


def _shortest_cycle(pairs: Iterable[Row], edges: Iterable[Row]) -> list[object]:
    """Return the shortest closed path through both modules of one of the pairs, which load each other."""
    successors: defaultdict[object, list[object]] = defaultdict(list)
    for source, target in edges:
        successors[source].append(target)
    cycles = [[*_path(m, n, successors)[:-1], *_path(n, m, successors)] for m, n in pairs]
    return min(cycles, key=lambda cycle: (len(cycle), [str(m) for m in cycle]))


def _path(start: object, goal: object, successors: Mapping[object, list[object]]) -> list[object]:
    """Return a shortest path from `start` to `goal`, both included."""
    came_from = {start: start}
    queue = deque([start])
    while queue and goal not in came_from:
        node = queue.popleft()
        for successor in successors.get(node, ()):
            if successor not in came_from:
                came_from[successor] = node
                queue.append(successor)
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def _dead_code(observed: Observation) -> Iterator[str]:
    removed, added = _functions(observed.facts.deleted), _functions(observed.facts.inserted)
    died = [str(f) for f, _ in observed.appeared("dead") if f not in added]
    revived = [str(f) for f, _ in observed.disappeared("dead") if f not in removed]
    if died:
        yield f"nothing reaches any more: {_listed(died)}"
        yield _because_without(observed.pipeline, "alive", [(f,) for f in died])
    if revived:
        yield f"reached again: {_listed(revived)}"
        yield _because_of(observed.pipeline, "alive", [(f,) for f in revived], {*observed.facts.inserted})


def _functions(facts: Iterable[tuple[str, Row]]) -> set[object]:
    return {row[0] for relation, row in facts if relation == "function"}


def _tests(observed: Observation) -> Iterator[str]:
    """Yield how many entry points could reach what was removed, or can reach what was added."""
    removed, added = _functions(observed.facts.deleted), _functions(observed.facts.inserted)
    before = [(e, f) for e, f in observed.disappeared("reaches") if f in removed]
    now = [(e, f) for e, f in observed.appeared("reaches") if f in added]
    if before:
        yield f"{_counted({e for e, _ in before})} could reach what was removed"
        yield _because_without(observed.pipeline, "reaches", before)
    if now:
        yield f"{_counted({e for e, _ in now})} can reach what was added"
        yield _because_of(observed.pipeline, "reaches", now, {*observed.facts.inserted})


def _modules(count: int) -> str:
    return f"{count:,} modules" if count != 1 else "one module"


def _counted(entries: Sized) -> str:
    return f"{len(entries):,} tests and programs" if len(entries) != 1 else "one test or program"


def _affected(observed: Observation) -> Iterator[str]:
    """Yield the surviving module for which the number of modules that a change to it can affect moved most."""
    moved = Counter(n for n, _ in observed.appeared("affects"))
    moved.subtract(n for n, _ in observed.disappeared("affects"))
    gone = {row[0] for relation, row in observed.facts.deleted if relation == "module"}
    came = {row[0] for relation, row in observed.facts.inserted if relation == "module"}
    ranked = sorted((-abs(k), str(n), k) for n, k in moved.items() if n not in gone ^ came and abs(k) > 1)
    if ranked:
        _, module, difference = ranked[0]
        now = len(observed.pipeline["affects"].lookup(changed=module))
        yield f"a change to {module} can now affect {_modules(now)} (before: {now - difference:,})"
        if affected := [row for row in observed.appeared("affects") if row[0] == module]:
            yield _because_of(observed.pipeline, "affects", affected, {*observed.facts.inserted})
        else:
            gone_now = [row for row in observed.disappeared("affects") if row[0] == module]
            yield _because_without(observed.pipeline, "affects", gone_now)


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:3]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
