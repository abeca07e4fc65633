"""Random programs of DDlog under random changes, against their meaning by definition after every epoch.

What it can catch: rules lowered to other joins, filters, antijoins, groups or functions than they say, wrong weights of
multisets and groups, values that columns do not give back, and epochs that leave other records than a new start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from extensions.ddlog.tests.naive import derived

import deltic
from deltic_ddlog.codecs import Codecs
from deltic_ddlog.lowering.program import Lowered
from deltic_ddlog.records import Reader

HEAD = """
import group
typedef Shape = Dot | Box{side: u8} | Pair{first: u8, second: Option<u8>}
function shapes(n: u8): Vec<Shape> { [Dot, Box{n}, Pair{n & 1, Some{n}}] }
function weights(g: Group<'K, u8>): u8 { var s = 0: u8; for ((v, w) in g) { s = s + v * (w as u64 as u8) }; s }
input relation A(x: u8, y: u8)
input relation S(x: u8, s: Shape)
input multiset M(x: u8)
"""
SHAPES = ("Dot", "Box{%d}", "Pair{%d, ddlog_std::Some{%d}}", "Pair{%d, ddlog_std::None}")
REDUCTIONS = ("min()", "weights()", "max()", "sum_of(|v| v)", "count_distinct() as u8", "count(|v| v > 2) as u8")
PAIR_REDUCTIONS = (
    "min().1",
    "max().0",
    "arg_min(|v| v.1).0",
    "arg_max(|v| v.0 ^ 3).1",
    "sum_of(|v| v.0 * v.1)",
    "count_distinct() as u8",
    "nth(1).unwrap_or((7, 7)).0",
)


class _Body:
    """A random body, and the variables that it binds: all of type `u8`."""

    def __init__(self, random: Random, internal: list[str]) -> None:
        self.random, self.clauses, self.known = random, list[str](), list[str]()
        self._internal, self._count = internal, 0
        self._atom()
        for _ in range(random.randrange(4)):
            random.choice((self._atom, self._atom, self._condition, self._absent, self._assign, self._flat_map))()
        if random.random() < 0.3:
            self._group()

    def new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _argument(self, fresh: list[str]) -> str:
        kind = self.random.random()
        if kind < 0.4 or not self.known:
            fresh.append(self.new())
            return fresh[-1]
        if kind < 0.7:
            return self.random.choice(self.known)
        return self.random.choice(("_", str(self.random.randrange(4)), self.value()))

    def value(self) -> str:
        a, b = (self.random.choice(self.known) if self.known else "1" for _ in range(2))
        return self.random.choice((a, f"({a} + {b})", f"({a} * 3 - {b})", f"({a} % 3)", f"({a} ^ {b})"))

    def _atom(self) -> None:
        fresh: list[str] = []
        kind = self.random.randrange(5)
        if kind == 0:
            inner = self.random.choice(("Box{%s}", "Pair{_, Some{%s}}", "Pair{%s, None}", "Pair{%s, _}"))
            self.clauses.append(f"S({self._argument(fresh)}, {inner % self._argument(fresh)})")
        elif kind == 1:
            self.clauses.append(f"M({self._argument(fresh)})")
        else:
            name = self.random.choice(["A", *self._internal])
            self.clauses.append(f"{name}({self._argument(fresh)}, {self._argument(fresh)})")
        self.known += fresh

    def _condition(self) -> None:
        operator = self.random.choice(("<", "==", "!=", ">="))
        self.clauses.append(f"{self.value()} {operator} {self.random.randrange(5)}")

    def _absent(self) -> None:
        self.clauses.append(f"not A({self.value()}, {self.random.choice(('_', self.value()))})")

    def _assign(self) -> None:
        name = self.new()
        self.clauses.append(f"var {name} = {self.value()}")
        self.known.append(name)

    def _flat_map(self) -> None:
        name = self.new()
        if self.random.random() < 0.5:
            self.clauses.append(f"var {name} = FlatMap([{self.value()}, {self.value()}])")
        else:
            self.clauses.append(f"var s{name} = FlatMap(shapes({self.value()})), Box{{var {name}}} = s{name}")
        self.known.append(name)

    def _group(self) -> None:
        key, other, name = self.random.choice(self.known), self.random.choice(self.known), self.new()
        if self.random.random() < 0.6:
            self.clauses.append(f"var {name} = {self.value()}.group_by({key}).{self.random.choice(REDUCTIONS)}")
        else:
            of_pairs = self.random.choice(PAIR_REDUCTIONS)
            self.clauses.append(
                f"var g{name} = ({self.value()}, {other}).group_by({key}), var {name} = g{name}.{of_pairs}"
            )
        self.known = [key, name]


def _program(random: Random, relations: int) -> str:
    lines, internal = [HEAD], list[str]()
    for i in range(relations):
        role = random.choice(("", "output ", "output "))
        kind = "multiset" if role and random.random() < 0.3 else "relation"
        lines.append(f"{role}{kind} R{i}(x: u8, y: u8)")
        for _ in range(random.randint(1, 2)):
            body = _Body(random, internal)
            lines.append(f"R{i}({body.value()}, {body.value()}) :- {', '.join(body.clauses)}.")
        if kind == "relation" and random.random() < 0.2:
            lines.append(f"R{i}(x, y) :- R{i}(x, z), A(z, y), y != 2.")
        internal.append(f"R{i}")
    return "\n".join(lines)


def _commands(random: Random) -> str:
    changes = []
    for _ in range(random.randint(1, 5)):
        do, x, y = random.choice(("insert", "insert", "delete")), random.randrange(5), random.randrange(5)
        shape = random.choice(SHAPES)
        record = random.choice((f"A({x}, {y})", f"A({x}, {y})", f"S({x}, {shape % ((y,) * shape.count('%'))})"))
        changes.append(f"{do} {record}")
    changes.append(f"insert M({random.randrange(4)})")
    return f"start; {', '.join(changes)}; commit;"


def _inputs(lowered: Lowered, lines: Callable[[str], list[str]]) -> dict[str, Counter[object]]:
    """Return what input relations have, by what the outputs say that copy them."""
    codecs = Codecs(lowered.checked.types)
    found: dict[str, Counter[object]] = {}
    for name in ("A", "S", "M"):
        codec = codecs.of(lowered.checked.relations[name].record)
        found[name] = Counter()
        for line in lines(f"{name}Copy"):
            text, _, weight = line.partition("} +")
            record = Reader(text.replace("Copy{", "{", 1) + ("}" if weight else "")).record()
            found[name][codec.read(record)] += int(weight or 1)
    return found


COPIES = """
output relation ACopy(x: u8, y: u8)
ACopy(x, y) :- A(x, y).
output relation SCopy(x: u8, s: Shape)
SCopy(x, s) :- S(x, s).
output multiset MCopy(x: u8)
MCopy(x) :- M(x).
"""


def _check(seed: int, relations: int = 6) -> None:
    random = Random(seed)
    text = _program(random, relations) + COPIES
    session = deltic.Pipeline().ddlog(text)
    lowered, checked = session.lowered, session.lowered.checked
    lines: list[str] = []
    session.write = lines.append

    def dumped(name: str) -> list[str]:
        lines.clear()
        session.run(f"dump {name};")
        return list(lines)

    history = []
    for _ in range(4):
        history.append(_commands(random))
        session.run(history[-1])
        expected = derived(checked, _inputs(lowered, dumped))
        for relation in checked.relations.values():
            if relation.role == "output":
                show = lowered.columns.codecs.of(relation.record).show
                wanted = [
                    show(record) + (f" {weight:+}" if weight != 1 else "")
                    for record, weight in sorted(expected[relation.name].items(), key=lambda pair: pair[0])
                    if weight
                ]
                assert dumped(relation.name) == wanted, "\n".join([text, *history, relation.name])


@pytest.mark.law("DBSP §11.1")
@pytest.mark.parametrize("first", range(1000, 1090, 30))
def test_random_programs_mean_what_they_say(first: int, record_property: Callable[[str, object], None]) -> None:
    for seed in range(first, first + 20):
        _check(seed, relations=2)
    record_property("random DDlog programs", 20)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 200, 20))
def test_many_random_programs_mean_what_they_say(first: int, record_property: Callable[[str, object], None]) -> None:
    for seed in range(first, first + 20):
        _check(seed)
    record_property("random DDlog programs", 20)
