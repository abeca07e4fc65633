"""Random programs of nested formulas and recursion, in every epoch of random changes, against their syntax trees.

Catches: a formula, a negation or an aggregate that is lowered to something else than it says, in a recursion or
outside; recursions that end elsewhere than the iteration from nothing, or do not end and are not told.
"""

import random
import re

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.errors import IterationLimitError
from tests.conformance.engines import Driver
from tests.datalog.by_tree import NoFixpointError, evaluate

UNIVERSE = range(3)
HEAD = """.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl n(x: number)
.input e, f, n
.decl p(x: number)
.decl q(x: number, y: number)
.decl v(x: number, y: number)
.decl r(x: number)
"""
TABLES = {"e": 2, "f": 2, "n": 1}
GROWING = {"p": 1, "q": 2}
VIEWS = ("p", "q", "v", "r")


class Formulas:
    """Random safe formulas. `grows`: whether relations of the recursion may stand where an atom is read plainly.

    `<z>` stands for `exists z: `, which the evaluator reads, and for nothing, where the negation has its own variable.
    """

    def __init__(self, rng, recursive):
        self.rng, self.recursive, self.number = rng, recursive, 0

    def fresh(self):
        self.number += 1
        return f"z{self.number}"

    def atom(self, depth, names, grows):
        known = {**TABLES, **(self.recursive if grows else {})}
        relation = self.rng.choice(list(known))
        return f"{relation}({', '.join(self.argument(names) for _ in range(known[relation]))})"

    def argument(self, names):
        return self.rng.choice([*names, *names, *names, str(self.rng.randrange(3)), "_"])

    def guard(self, name, names):
        """An atom that gives a variable its values."""
        other = self.rng.choice([*names, "_"])
        return self.rng.choice([f"n({name})", f"e({other}, {name})", f"f({name}, {other})", f"e({name}, {name})"])

    def formula(self, depth, names, grows):
        """A formula over variables that have values."""
        kinds = ["atom", "compare"] if not depth else [*KINDS, "atom"]
        return getattr(self, self.rng.choice(kinds))(depth - 1, names, grows)

    def compare(self, depth, names, grows):
        other = self.rng.choice([*names, *names, "1", "2"])
        return f"{self.rng.choice(names)} {self.rng.choice(['=', '!=', '<', '<='])} {other}"

    def some(self, depth, names, grows):
        z = self.fresh()
        return f"exists {z}: ({self.guard(z, names)}, {self.formula(depth, [*names, z], grows)})"

    def every(self, depth, names, grows):
        z = self.fresh()
        return f"forall {z}: ({self.guard(z, names)} -> {self.formula(depth, [*names, z], grows)})"

    def none(self, depth, names, grows):
        z = self.fresh()
        quantifier = f"exists {z}: " if self.rng.random() < 0.5 else f"<{z}>"
        mentioned = f"{z} != {self.rng.randrange(3)}"
        return f"!{quantifier}({self.guard(z, names)}, {mentioned}, {self.formula(depth, [*names, z], not grows)})"

    def absent(self, depth, names, grows):
        return f"!({self.formula(depth, names, not grows)}, {self.formula(depth, names, not grows)})"

    def either(self, depth, names, grows):
        return f"({self.formula(depth, names, grows)} ; {self.formula(depth, names, grows)})"

    def implies(self, depth, names, grows):
        return f"({self.formula(depth, names, not grows)} -> {self.formula(depth, names, grows)})"

    def counted(self, depth, names, grows):
        z = self.fresh()
        body = f"{self.guard(z, names)}, {self.formula(depth, [*names, z], True)}"
        operator = ">" if grows else "<"
        return f"count : {{ {counted(body)} }} {operator} {self.rng.randrange(1, 3)}"

    def extreme(self, depth, names, grows):
        z = self.fresh()
        function, operator = self.rng.choice([("min", "<"), ("max", ">")])
        body = f"{self.guard(z, names)}, {self.formula(depth, [*names, z], True)}"
        if self.rng.random() < 0.4:
            body += f" ; {self.guard(z, names)}, {z} != {self.rng.choice(names)}"
        compared = f"{function} {z} : {{ {counted(body)} }} {operator} {self.rng.choice(names)}"
        return compared if grows else f"!({compared}, n({names[0]}))"

    def handed_on(self, depth, names, grows):
        """An aggregate of which it is not known which way it turns."""
        z = self.fresh()
        body = f"{self.guard(z, names)}, {self.formula(depth, [*names, z], self.rng.random() < 0.5)}"
        return f"{self.rng.randrange(3)} = count : {{ {counted(body)} }}"


def counted(body):
    """A body without `_`, each value of which would count."""
    return re.sub(r"\b_\b", "1", body)


KINDS = ["some", "every", "none", "absent", "either", "implies", "counted", "extreme"]


def random_extended(rng):
    """A program: p and q recursive through even negations and aggregates, v by values, r over all of them."""
    inner = Formulas(rng, GROWING)
    depth = lambda: rng.choice([1, 2, 2, 3])  # noqa: E731
    rules = [f"p(x) :- n(x), {inner.formula(depth(), ['x'], True)}." for _ in range(rng.choice([1, 2]))]
    rules += [f"q(x, y) :- {rng.choice(['e', 'f'])}(x, y), {inner.formula(depth(), ['x', 'y'], True)}."]
    rules += rng.choice([[], ["q(x, z) :- q(x, y), f(y, z)."], ["p(y) :- p(x), e(x, y)."]])
    if rng.random() < 0.3:
        rules.append(f"p(x) :- n(x), {inner.handed_on(1, ['x'], True)}.")
    function, step = rng.choice(
        [("min", "e(x, y), v(y, z)"), ("max", "f(x, y), v(y, z)"), ("max", "e(y, x), v(y, z), p(y)")]
    )
    rules.append(f"v(x, m) :- n(x), m = {function} z : {{ {step} ; e(x, z), {inner.formula(1, ['x', 'z'], True)} }}.")
    over = Formulas(rng, {**GROWING, "v": 2})
    rules.append(f"r(x) :- n(x), {over.formula(depth(), ['x'], True)}, !({over.formula(2, ['x'], True)}, n(x)).")
    return HEAD + "\n".join(rules)


class Reference:
    """Each epoch anew by the reference interpreter."""

    def __init__(self, text):
        self.circuit = lower(check([parse(text)]))

    def epoch(self, before, tables):
        views = run(self.circuit, {name: ZSet.of(rows) for name, rows in tables.items()})
        assert all(weight == 1 for rows in views.values() for _, weight in rows)
        return {name: {row for row, _ in rows} for name, rows in views.items()}


class Local:
    """The local engine, kept up to date."""

    def __init__(self, text):
        circuit = lower(check([parse(text)]))
        self.driver = Driver(IncrementalEngine(circuit, iteration_limit=200), circuit)

    def epoch(self, before, tables):
        changes = {
            name: [*((row, -1) for row in before[name] - rows), *((row, 1) for row in rows - before[name])]
            for name, rows in tables.items()
        }
        self.driver.apply(changes)
        return {name: set(self.driver.rows(name)) for name in VIEWS}


def check_program(seed, kind):
    """Five epochs of random changes; how many of them have a fixpoint."""
    rng = random.Random(seed)
    text = random_extended(rng)
    program = parse(re.sub(r"<(z\d+)>", r"exists \1: ", text))
    engine = kind(re.sub(r"<z\d+>", "", text))
    tables = {name: frozenset() for name in TABLES}
    ends = 0
    for epoch in range(5):
        before = tables
        tables = {name: rows ^ _some_rows(rng, TABLES[name]) for name, rows in before.items()}
        shown = f"seed {seed}, epoch {epoch}\n{text}\n{tables}"
        try:
            expected = evaluate(program, tables, UNIVERSE)
        except NoFixpointError:
            with pytest.raises(IterationLimitError, match="has no end"):
                engine.epoch(before, tables)
            tables = before
            continue
        found, ends = engine.epoch(before, tables), ends + 1
        for name in VIEWS:
            assert found[name] == expected[name], f"{name}: {sorted(found[name])} {sorted(expected[name])}\n{shown}"
    return ends


def _some_rows(rng, width):
    return {tuple(rng.randrange(3) for _ in range(width)) for _ in range(rng.randrange(1, 5))}


def test_random_programs():
    assert sum(check_program(seed, Reference) for seed in range(90)) > 400


def test_random_programs_kept_up_to_date():
    assert sum(check_program(seed, Local) for seed in range(300, 320)) > 80


@pytest.mark.slow
def test_many_random_programs():
    assert sum(check_program(seed, Reference) for seed in range(1000, 2350)) > 6400


@pytest.mark.slow
def test_many_random_programs_kept_up_to_date():
    assert sum(check_program(seed, Local) for seed in range(4000, 4150)) > 675
