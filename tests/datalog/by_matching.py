"""Rules as values, and what they derive by trying every row: each atom is matched with all rows, from left to right.

It knows Datalog's meaning from docs/datalog.md and shares nothing with the product. A body is written in an order in
which each literal finds its variables bound; `str` of a rule may have it in any. Values are whole numbers, texts,
records `("[", a, b)`, `("nil",)`, and values of branches `("$Name", a)`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import Any

NIL = ("nil",)


def text(value: Any) -> Any:
    """A value as the pipeline has it."""
    if not isinstance(value, tuple):
        return value
    begin, *fields = value
    inside = ", ".join(str(text(f)) for f in fields)
    if begin == "[":
        return f"[{inside}]"
    return f"{begin}({inside})" if fields else begin


@dataclass(frozen=True)
class Var:
    """A variable; `_` is another one at each place."""

    name: str

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Made:
    """A structure of fields, `begin` as in values; it matches values too."""

    begin: str
    fields: tuple[Any, ...] = ()

    def __str__(self):
        inside = ", ".join(map(str, self.fields))
        return f"[{inside}]" if self.begin == "[" else f"{self.begin}({inside})" if self.fields else self.begin


@dataclass(frozen=True)
class Op:
    """A functor, infix where it is no word."""

    functor: str
    arguments: tuple[Any, ...]

    def __str__(self):
        shown = [f"({a})" if isinstance(a, Op) else str(a) for a in self.arguments]
        if self.functor.isalpha() and not self.functor.startswith("b"):
            return f"{self.functor}({', '.join(shown)})"
        return f" {self.functor} ".join(shown)


FUNCTORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: None if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1),
    "band": lambda a, b: a & b,
    "bxor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "cat": lambda a, b: a + b,
    "strlen": len,
    "twice": lambda a: None if a > 3 else 2 * a,
}
COMPARISONS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
}


@dataclass(frozen=True)
class Atom:
    """A relation of terms, or its absence."""

    relation: str
    terms: tuple[Any, ...]
    negated: bool = False

    def __str__(self):
        return f"{'!' * self.negated}{self.relation}({', '.join(map(str, self.terms))})"

    def solve(self, env, rows):
        if self.negated:
            if not any(True for _ in Atom(self.relation, self.terms).solve(env, rows)):
                yield env
            return
        for row in rows[self.relation]:
            found = env
            for term, value in zip(self.terms, row, strict=True):
                found = found if found is None else match(term, value, found)
            if found is not None:
                yield found


@dataclass(frozen=True)
class Compare:
    """A comparison; `=` matches what is on its left with the value on its right."""

    operator: str
    left: Any
    right: Any

    def __str__(self):
        return f"{self.left} {self.operator} {self.right}"

    def solve(self, env, rows):
        right = compute(self.right, env)
        if right is None:
            return
        if self.operator == "=":
            found = match(self.left, right, env)
            if found is not None:
                yield found
            return
        left = compute(self.left, env)
        if left is not None and COMPARISONS[self.operator](left, right):
            yield env


@dataclass(frozen=True)
class Range:
    """`x = range(a, b)`, with a step or without."""

    variable: Var
    bounds: tuple[Any, ...]

    def __str__(self):
        return f"{self.variable} = range({', '.join(map(str, self.bounds))})"

    def solve(self, env, rows):
        a, b, *step = (compute(bound, env) for bound in self.bounds)
        for value in range(a, b, *(step or [1 if a <= b else -1])) if step != [0] else ():
            found = match(self.variable, value, env)
            if found is not None:
                yield found


@dataclass(frozen=True)
class Either:
    """Alternatives."""

    bodies: tuple[tuple[Any, ...], ...]

    def __str__(self):
        return "(" + " ; ".join(", ".join(map(str, body)) for body in self.bodies) + ")"

    def solve(self, env, rows):
        for body in self.bodies:
            yield from solve(body, env, rows)


@dataclass(frozen=True)
class Aggregate:
    """`result = function target : { bodies }`; `witnesses` have the values at which the least or greatest is met.

    `given` are the variables that it has from outside.
    """

    result: Var
    function: str
    target: Any
    bodies: tuple[tuple[Any, ...], ...]
    given: tuple[str, ...] = ()
    witnesses: tuple[str, ...] = ()

    def __str__(self):
        target = "" if self.target is None else f" {self.target}"
        bodies = " ; ".join(", ".join(map(str, body)) for body in self.bodies)
        return f"{self.result} = {self.function}{target} : {{ {bodies} }}"

    def solve(self, env, rows):
        own = {name: env[name] for name in self.given}
        found = [b for body in self.bodies for b in solve(body, own, rows)]
        if len(self.bodies) > 1:
            shared = set.intersection(*(names_of(body) for body in self.bodies)) | {*self.given}
            found = [dict(b) for b in {tuple(sorted((n, b[n]) for n in shared if n in b)) for b in found}]
        elif not counts_rows(self.bodies[0]):
            found = [dict(b) for b in {frozenset(b.items()) for b in found}]
        values = [(1 if self.target is None else compute(self.target, b), b) for b in found]
        values = [(value, b) for value, b in values if value is not None]
        if self.function in ("min", "max") and not values:
            return
        fold = {"count": len, "sum": sum, "min": min, "max": max}[self.function]
        result = fold([value for value, _ in values])
        reached = [b for value, b in values if value == result] if self.witnesses else [{}]
        for names in {tuple(b[name] for name in self.witnesses) for b in reached}:
            bound = match(self.result, result, {**env, **dict(zip(self.witnesses, names, strict=True))})
            if bound is not None:
                yield bound


def names_of(part):
    """The variables that literals or terms mention, but for those of aggregates."""
    if isinstance(part, Var):
        return {part.name} - {"_"}
    if isinstance(part, tuple):
        return set().union(*map(names_of, part))
    if isinstance(part, Made):
        return names_of(part.fields)
    if isinstance(part, Op):
        return names_of(part.arguments)
    if isinstance(part, Atom):
        return names_of(part.terms)
    if isinstance(part, Compare):
        return names_of((part.left, part.right))
    return set()


def counts_rows(body):
    """Whether each row that a body matches is a binding of its own: it has one atom, in which no variable is twice."""
    atoms = [part for part in body if isinstance(part, Atom) and not part.negated]
    terms = [term for atom in atoms for term in atom.terms]
    is_plain = not any(isinstance(part, Aggregate | Range | Either) for part in body)
    return is_plain and len(atoms) == 1 and sum(len(names_of(term)) for term in terms) == len(names_of(tuple(terms)))


def match(term, value, env):
    """The bindings under which a term has the value; None where it has another one."""
    if isinstance(term, Var):
        if term.name == "_":
            return env
        if term.name not in env:
            return {**env, term.name: value}
        return env if env[term.name] == value else None
    if isinstance(term, Made):
        begin, *fields = value
        if begin != term.begin or len(fields) != len(term.fields):
            return None
        for inner, found in zip(term.fields, fields, strict=True):
            env = env if env is None else match(inner, found, env)
        return env
    return env if compute(term, env) == value else None


def compute(term, env):
    """The value of a term, None where it has none."""
    if isinstance(term, Var):
        return env[term.name]
    if isinstance(term, Made):
        fields = [compute(inner, env) for inner in term.fields]
        return None if None in fields else (term.begin, *fields)
    if isinstance(term, Op):
        arguments = [compute(inner, env) for inner in term.arguments]
        return None if None in arguments else FUNCTORS[term.functor](*arguments)
    return term.strip('"') if isinstance(term, str) else term


def solve(body, env, rows):
    """The bindings for which a body holds."""
    if not body:
        yield env
        return
    for found in body[0].solve(env, rows):
        yield from solve(body[1:], found, rows)


@dataclass(frozen=True)
class Rule:
    """A head and a body, which is shown as `shown` says, in any order."""

    head: Atom
    body: tuple[Any, ...] = ()
    shown: tuple[Any, ...] = ()

    def __str__(self):
        return f"{self.head} :- {', '.join(map(str, self.shown or self.body))}." if self.body else f"{self.head}."

    def derive(self, rows):
        found = ([compute(term, env) for term in self.head.terms] for env in solve(self.body, {}, rows))
        return {tuple(row) for row in found if None not in row}


@dataclass
class Layer:
    """Relations that depend on each other, and on what layers before it give; and what makes rows of what is derived.

    `after` is applied in each iteration where it only adds, `at_last` once; `hidden` relations are not looked at.
    """

    rules: list[Rule]
    after: dict[str, Any] = field(default_factory=dict)
    at_last: dict[str, Any] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()


def evaluate(layers, tables):
    """The rows of all relations."""
    rows = defaultdict(set, {name: set(found) for name, found in tables.items()})
    for layer in layers:
        for _ in count():
            before = {rule.head.relation: len(rows[rule.head.relation]) for rule in layer.rules}
            for rule in layer.rules:
                rows[rule.head.relation] |= rule.derive(rows)
            for name, close in layer.after.items():
                rows[name] |= close(rows[name])
            if before == {name: len(rows[name]) for name in before}:
                break
        for name, reduce in layer.at_last.items():
            rows[name] = reduce(rows[name])
    return rows
