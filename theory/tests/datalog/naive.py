"""Datalog by its definition: an evaluator over the syntax tree, with nothing of the checks or the lowering in it.

It knows numbers, floats, symbols and aggregates. Undefined values are None. Formulas are evaluated where they stand,
without a normal form; negation inside of a rule is three-valued, as Kleene's, with undefined for unknown.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax import program as p

Row = tuple[Any, ...]
Database = dict[str, set[Row]]
Binding = Mapping[str, Any]

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate_program(program: p.ParsedProgram, tables: Mapping[str, set[Row]]) -> Database:
    """All rows of all declared relations."""
    types = {d.name: [a.type.name for a in d.attributes] for d in program.all(p.Declaration)}
    database: Database = {name: set(tables.get(name, ())) for name in types}
    clauses = [_apart(c, {n: n for n in _plain_names(c)}, itertools.count(1)) for c in program.all(p.Clause)]
    strata = _strata(clauses, types)
    for stratum in sorted(set(strata.values())):
        active = [(head, c.body) for c in clauses for head in c.heads if strata[head.relation] == stratum]
        while any(_fire(head, body, types[head.relation], database) for head, body in active):
            pass
    return database


def _apart(part: Any, names: Mapping[str, str], numbers: Iterator[int]) -> Any:
    """A part of a clause with names of their own, `x'3`, for the variables of aggregates, which are numbered.

    `names` are those that are visible where the part stands.
    """
    if isinstance(part, tuple):
        return tuple(_apart(inner, names, numbers) for inner in part)
    if isinstance(part, e.Variable):
        return replace(part, name=names[part.name])
    if isinstance(part, f.AggregateExpression):
        number = next(numbers)
        target = _plain_names(part.targets)
        own = {n: f"{n}'{number}" for n in _plain_names(part.body) | target if n in target or n not in names}
        part = replace(part, function=f"{part.function}'{number}")
        names = {**names, **own}
    if isinstance(part, e.SyntaxNode):
        inner = {x.name: getattr(part, x.name) for x in fields(part) if x.name != "span"}
        return replace(part, **{n: _apart(v, names, numbers) for n, v in inner.items()})
    return part


def _plain_names(part: Any) -> set[str]:
    """The variables in a part of a clause outside of its aggregates."""
    if isinstance(part, e.Variable):
        return {part.name}
    if isinstance(part, tuple):
        return set().union(*map(_plain_names, part))
    if isinstance(part, e.SyntaxNode) and not isinstance(part, f.AggregateExpression):
        return set().union(*(_plain_names(getattr(part, x.name)) for x in fields(part) if x.name != "span"))
    return set()


def _free(part: Any) -> set[str]:
    """All variables in a part but those of aggregates inside it, whose numbers are greater."""
    if isinstance(part, f.AggregateExpression):
        number = int(part.function.partition("'")[2])
        inside = _free(part.body) | _free(part.targets)
        return {n for n in inside if not n.partition("'")[2] or int(n.partition("'")[2]) < number}
    if isinstance(part, e.Variable):
        return {part.name}
    if isinstance(part, tuple):
        return set().union(*map(_free, part))
    if isinstance(part, e.SyntaxNode):
        return set().union(*(_free(getattr(part, x.name)) for x in fields(part) if x.name != "span"))
    return set()


def _aggregate(aggregate: f.AggregateExpression, binding: Binding, database: Database) -> Any:
    """The value over all bindings; each row that an atom matches is one where the body is that atom."""
    given = {name: binding[name] for name in _free(aggregate)}
    found = list(_solve([aggregate.body], given, database))
    if not _counts_rows(aggregate):
        found = [dict(items) for items in {frozenset(each.items()) for each in found}]
    function = aggregate.function.partition("'")[0]
    if function == "count":
        return len(found)
    (target,) = aggregate.targets
    values = [v for b in found if (v := _value(target, b, database)) is not None]
    if function == "sum":
        return (sum(values) + 2**63) % 2**64 - 2**63 if all(isinstance(v, int) for v in values) else math.fsum(values)
    if not values:
        return None
    if function == "mean":
        return float(sum(map(Fraction, values)) / len(values))
    return {"min": min, "max": max}[function](values)


def _counts_rows(aggregate: f.AggregateExpression) -> bool:
    """Whether the body is one atom, with no variable twice, and conditions without aggregates."""
    parts = aggregate.body.parts if isinstance(aggregate.body, f.Conjunction) else (aggregate.body,)
    atoms = [part for part in parts if isinstance(part, f.BodyAtom)]
    names = [v.name for atom in atoms for a in atom.arguments for v in e.variables(a)]
    inside = (part for x in _expressions(aggregate.body) for part in e.subexpressions(x))
    return (
        len(atoms) == 1
        and len(names) == len(set(names))
        and not any(isinstance(x, f.AggregateExpression) for x in inside)
    )


def _fire(head: f.BodyAtom, body: f.BodyFormula | None, types: Sequence[str], database: Database) -> bool:
    """Add what a rule derives; whether anything was new."""
    rows = set()
    for binding in _solve([body] if body else [], {}, database):
        row = [_value(argument, binding, database) for argument in head.arguments]
        if None not in row:
            rows.add(tuple(float(v) if t == "float" else v for v, t in zip(row, types, strict=True)))
    new = rows - database[head.relation]
    database[head.relation] |= new
    return bool(new)


def _strata(clauses: Sequence[p.Clause], names: Mapping[str, Any]) -> dict[str, int]:
    """The least numbers with head >= positive body and head > negated body."""
    level = dict.fromkeys(names, 0)
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            for head in clause.heads:
                uses = [*_uses(clause.body, False), *(use for use in _uses(head, False) if use[1])]
                needed = max((level[r] + n for r, n in uses), default=0)
                if needed > level[head.relation]:
                    level[head.relation], changed = needed, True
    return level


def _uses(formula: f.BodyFormula | None, negated: bool) -> Iterator[tuple[str, bool]]:
    for expression in f.expressions_of(formula) if formula else ():
        for aggregate in (part for part in e.subexpressions(expression) if isinstance(part, f.AggregateExpression)):
            yield from ((name, True) for name, _ in _uses(aggregate.body, True))
    if isinstance(formula, f.BodyAtom):
        yield formula.relation, negated
    elif isinstance(formula, f.Negation):
        yield from _uses(formula.part, True)
    elif isinstance(formula, f.Conjunction | f.Disjunction):
        for part in formula.parts:
            yield from _uses(part, negated)


def _solve(parts: Sequence[f.BodyFormula], binding: Binding, database: Database) -> Iterator[Binding]:
    """The bindings for which all parts hold; parts wait until their variables are bound."""
    for position, part in enumerate(parts):
        rest = [*parts[:position], *parts[position + 1 :]]
        if isinstance(part, f.Conjunction):
            yield from _solve([*part.parts, *rest], binding, database)
            return
        if isinstance(part, f.Disjunction):
            for alternative in part.parts:
                yield from _solve([alternative, *rest], binding, database)
            return
        if (steps := _step(part, binding, database)) is not None:
            for step in steps:
                yield from _solve(rest, step, database)
            return
    assert not parts, "the rule has a variable without a value"
    yield binding


def _step(part: f.BodyFormula, binding: Binding, database: Database) -> list[Binding] | None:
    """The extensions of a binding for which a literal holds, None when it has to wait."""
    if isinstance(part, f.BodyAtom):
        return _matches(part, binding, database)
    if isinstance(part, f.BodyComparison) and part.operator == "=":
        for side, other in ((part.left, part.right), (part.right, part.left)):
            if isinstance(side, e.Variable) and side.name not in binding and _bound(other, binding):
                value = _value(other, binding, database)
                return [] if value is None else [{**binding, side.name: value}]
    inner = part.part if isinstance(part, f.Negation) else part
    if not all(_bound(x, binding) for x in _expressions(inner)):
        return None
    return [binding] if _truth(part, binding, database) else []


def _expressions(formula: f.BodyFormula) -> list[e.Expression]:
    if isinstance(formula, f.Negation):
        return _expressions(formula.part)
    if isinstance(formula, f.Conjunction | f.Disjunction):
        return [x for part in formula.parts for x in _expressions(part)]
    return list(f.expressions_of(formula))


def _bound(expression: e.Expression, binding: Binding) -> bool:
    return _free(expression) <= binding.keys()


def _matches(atom: f.BodyAtom, binding: Binding, database: Database) -> list[Binding] | None:
    direct = {a.name for a in atom.arguments if isinstance(a, e.Variable)}
    computed = [a for a in atom.arguments if not isinstance(a, e.Variable | e.Wildcard)]
    if not all(v.name in direct or v.name in binding for a in computed for v in e.variables(a)):
        return None
    found = []
    for row in database[atom.relation]:
        extended = dict(binding)
        named = [(a.name, v) for a, v in zip(atom.arguments, row, strict=True) if isinstance(a, e.Variable)]
        if not all(extended.setdefault(name, value) == value for name, value in named):
            continue
        others = [(a, v) for a, v in zip(atom.arguments, row, strict=True) if a in computed]
        if all(_value(argument, extended, database) == value for argument, value in others):
            found.append(extended)
    return found


def _truth(formula: f.BodyFormula, binding: Binding, database: Database) -> bool | None:
    """True, False, or None when that depends on something undefined; all variables are bound."""
    if isinstance(formula, f.Negation):
        inner = _truth(formula.part, binding, database)
        return None if inner is None else not inner
    if isinstance(formula, f.Conjunction | f.Disjunction):
        decisive = isinstance(formula, f.Disjunction)
        values = [_truth(part, binding, database) for part in formula.parts]
        return decisive if decisive in values else None if None in values else not decisive
    if isinstance(formula, f.Truth):
        return formula.value
    values = [_value(x, binding, database) for x in f.expressions_of(formula) if not isinstance(x, e.Wildcard)]
    if None in values:
        return None
    if isinstance(formula, f.BodyAtom):
        return bool(_matches(formula, binding, database))
    if isinstance(formula, f.BodyComparison):
        return _COMPARE[formula.operator](*values)
    assert isinstance(formula, f.Test)
    return values[0] in values[1] if formula.name == "contains" else bool(re.fullmatch(*values))


def _value(expression: e.Expression, binding: Binding, database: Database) -> Any:
    if isinstance(expression, e.Variable):
        return binding[expression.name]
    if isinstance(expression, e.Cast):
        return _value(expression.argument, binding, database)
    if isinstance(expression, f.AggregateExpression):
        return _aggregate(expression, binding, database)
    if isinstance(expression, e.FunctorCall):
        arguments = [_value(argument, binding, database) for argument in expression.arguments]
        return None if None in arguments else _apply(expression.functor, arguments)
    return expression.value


def _apply(functor: str, arguments: Sequence[Any]) -> Any:
    if all(isinstance(argument, int) for argument in arguments) and functor in _INTEGERS:
        value = _INTEGERS[functor](*arguments)
        return None if value is None else (value + 2**63) % 2**64 - 2**63
    if functor in ("+", "-", "*", "/") and len(arguments) == 2 and not isinstance(arguments[0], str):
        a, b = map(float, arguments)
        return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else None}[functor]
    return _OTHERS[functor](*arguments)


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_INTEGERS = {
    "+": operator.add,
    "-": lambda a, b=None: -a if b is None else a - b,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: None if b == 0 else a - b * _quotient(a, b),
    "^": lambda a, b: None if b < 0 else a**b,
    "band": operator.and_,
    "bor": operator.or_,
    "bxor": operator.xor,
    "bnot": operator.invert,
    "bshl": lambda a, b: a << b % 64,
    "bshr": lambda a, b: a >> b % 64,
    "bshru": lambda a, b: a % 2**64 >> b % 64,
    "land": lambda a, b: int(a != 0 and b != 0),
    "lor": lambda a, b: int(a != 0 or b != 0),
    "lxor": lambda a, b: int((a != 0) != (b != 0)),
    "lnot": lambda a: int(a == 0),
}
_OTHERS = {
    "min": min,
    "max": max,
    "cat": lambda *texts: "".join(texts),
    "+": operator.add,
    "strlen": len,
    "substr": lambda s, i, n: s[i : i + n] if i >= 0 and n >= 0 else "",
    "to_string": lambda v: v if isinstance(v, str) else str(v),
    "to_number": lambda v: int(v) if not isinstance(v, str) or re.fullmatch("[+-]?[0-9]+", v) else None,
    "to_float": float,
}
