"""The meaning of a random program by brute force: no parser, no circuit, no expression trees of Deltic.

Rules are tried on all rows of their atoms until nothing new is derived, one layer of negation after the other. It
checks what the engines have in common: the front-end, the lowering and the reference interpreter.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tests.differential.datalog import (
    Aggregate,
    Atom,
    Comparison,
    Const,
    Contains,
    Literal,
    Op,
    Or,
    Program,
    Rule,
    Term,
    Var,
    Wild,
    variables,
)

Row = tuple[Any, ...]
Tables = Mapping[str, frozenset[Row]]
Env = dict[str, Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
_FUNCTORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: _wrapped(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "band": operator.and_,
    "bxor": operator.xor,
    "min": min,
    "max": max,
    "cat": operator.add,
    "strlen": len,
    "to_number": int,
    "to_string": str,
    "substr": lambda s, start, length: s[start : start + length],
}


def _wrapped(value: int) -> int:
    """Only −2⁶³ / −1 leaves the range of numbers in a random program: nothing else grows without a guard."""
    return value if value != 2**63 else -(2**63)


class _Undefined(Exception):
    """A value that does not exist."""


def evaluate(program: Program, tables: Tables) -> dict[str, frozenset[Row]]:
    """The contents of every relation."""
    relations = {r.name: set(tables.get(r.name, frozenset())) for r in program.relations}
    pending = [(rule, body) for rule in program.rules for body in _conjunctions(rule.body)]
    for layer in _layers(program):
        rules = [(rule, body) for rule, body in pending if any(h.relation in layer for h in rule.heads)]
        while sum(_derive(rule, body, relations) for rule, body in rules):
            pass
    return {name: frozenset(rows) for name, rows in relations.items()}


def _derive(rule: Rule, body: tuple[Literal, ...], relations: dict[str, set[Row]]) -> bool:
    """Add what a rule derives; whether any of it is new."""
    found = []
    for env in list(_solutions(body, {}, relations)):
        for head in rule.heads:
            try:
                found.append((head.relation, tuple(_value(t, env) for t in head.terms)))
            except _Undefined:
                continue
    new = [(name, row) for name, row in found if row not in relations[name]]
    for name, row in new:
        relations[name].add(row)
    return bool(new)


def _layers(program: Program) -> list[set[str]]:
    """The relations in an order in which whatever a rule negates is complete, and whatever it reads begun."""
    level = {r.name: 0 for r in program.relations}
    for _ in range(len(level) ** 2 + 1):
        for rule in program.rules:
            for name, above in (use for body in _conjunctions(rule.body) for use in _uses(body)):
                for head in rule.heads:
                    level[head.relation] = max(level[head.relation], level[name] + above)
    return [{name for name, at in level.items() if at == wanted} for wanted in range(max(level.values()) + 1)]


def _uses(body: tuple[Literal, ...]) -> Iterator[tuple[str, bool]]:
    """The relations that a conjunction reads, and whether they have to be complete."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal.relation, literal.negated
        elif isinstance(literal, Comparison) and isinstance(literal.right, Aggregate):
            yield from ((name, True) for name, _ in _uses(literal.right.body))


def _conjunctions(body: tuple[Literal, ...]) -> list[tuple[Literal, ...]]:
    """The body without disjunctions."""
    choices = [
        [c for branch in literal.branches for c in _conjunctions(branch)] if isinstance(literal, Or) else [(literal,)]
        for literal in body
    ]
    return [tuple(itertools.chain.from_iterable(choice)) for choice in itertools.product(*choices)]


def _solutions(todo: tuple[Literal, ...], env: Env, relations: Mapping[str, set[Row]]) -> Iterator[Env]:
    """The assignments that satisfy the literals; each time, the first literal that can be decided is."""
    if not todo:
        yield env
        return
    position = next(i for i, literal in enumerate(todo) if _ready(literal, env))
    rest = todo[:position] + todo[position + 1 :]
    for extended in _extend(todo[position], env, relations):
        yield from _solutions(rest, extended, relations)


def _ready(literal: Literal, env: Env) -> bool:
    if isinstance(literal, Contains):
        return variables(literal.part) | variables(literal.whole) <= env.keys()
    if isinstance(literal, Comparison):
        free = [t for t in (literal.left, literal.right) if variables(t) - env.keys()]
        return not free or (literal.operator == "=" and len(free) == 1 and isinstance(free[0], Var))
    assert isinstance(literal, Atom)
    binds = set() if literal.negated else {t.name for t in literal.terms if isinstance(t, Var)}
    return all(variables(t) <= env.keys() | binds for t in literal.terms)


def _extend(literal: Literal, env: Env, relations: Mapping[str, set[Row]]) -> Iterator[Env]:
    if isinstance(literal, Contains):
        if _value(literal.part, env) in _value(literal.whole, env):
            yield env
        return
    if isinstance(literal, Comparison):
        with contextlib.suppress(_Undefined):
            if isinstance(literal.right, Aggregate):
                literal = replace(literal, right=_aggregated(literal.right, env, relations))
            yield from _compare(literal, env)
        return
    assert isinstance(literal, Atom)
    if literal.negated and any(_is_undefined(t, env) for t in literal.terms if not isinstance(t, Wild)):
        return
    found = [e for row in relations[literal.relation] if (e := _match(literal.terms, row, env)) is not None]
    if not literal.negated:
        yield from found
    elif not found:
        yield env


def _aggregated(aggregate: Aggregate, env: Env, relations: Mapping[str, set[Row]]) -> Const:
    """The value as a constant, whose type nothing asks for."""
    found = list(_solutions(aggregate.body, {name: env[name] for name in aggregate.given}, relations))
    if aggregate.target is None:
        return Const(len(found), "")
    target = aggregate.target
    values = [_value(target, e) for e in found if not _is_undefined(target, e)]
    if aggregate.function in ("min", "max"):
        if not values:
            raise _Undefined
        return Const(min(values) if aggregate.function == "min" else max(values), "")
    total = sum(map(Fraction, values))
    if aggregate.function == "sum":
        return Const(_float(total) if any(isinstance(v, float) for v in values) else _in_64_bits(int(total)), "")
    if not values:
        raise _Undefined
    return Const(_float(total / len(values)), "")


def _float(value: Fraction | int) -> float:
    return float(value) if abs(value) < 2**1024 - 2**970 else math.copysign(math.inf, value)


def _in_64_bits(value: int) -> int:
    """Random programs add up numbers only."""
    return (value + 2**63) % 2**64 - 2**63


def _is_undefined(term: Term, env: Env) -> bool:
    try:
        _value(term, env)
    except _Undefined:
        return True
    return False


def _compare(literal: Comparison, env: Env) -> Iterator[Env]:
    for unknown, known in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(unknown, Var) and unknown.name not in env:
            yield {**env, unknown.name: _value(known, env)}
            return
    if _COMPARE[literal.operator](_value(literal.left, env), _value(literal.right, env)):
        yield env


def _match(terms: tuple[Term, ...], row: Row, env: Env) -> Env | None:
    extended = dict(env)
    pairs = list(zip(terms, row, strict=True))
    if any(extended.setdefault(term.name, value) != value for term, value in pairs if isinstance(term, Var)):
        return None
    others = ((term, value) for term, value in pairs if not isinstance(term, Var | Wild))
    try:
        return extended if all(_value(term, extended) == value for term, value in others) else None
    except _Undefined:
        return None


def _value(term: Term, env: Env) -> Any:
    if isinstance(term, Var):
        return env[term.name]
    if isinstance(term, Const):
        return term.value
    assert isinstance(term, Op)
    values = [_value(a, env) for a in term.arguments]
    if term.functor in ("/", "%") and values[1] == 0:
        raise _Undefined
    if term.functor == "to_number" and not re.fullmatch("[+-]?[0-9]{1,9}", values[0]):
        raise _Undefined
    return _FUNCTORS[term.functor](*values)
