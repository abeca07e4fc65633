"""Programs evaluated by their syntax trees: every binding over a small universe is tried, iteration after iteration.

It is the definition that docs/datalog.md states, and shares nothing with checks and lowering. Quantifiers, implications
and alternatives mean what logic says; the program must say `exists` where it means it. All values are whole numbers.
"""

from __future__ import annotations

from itertools import product

from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.program import Clause

COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
AGGREGATES = {
    "count": lambda values: len(values),
    "sum": sum,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}


class NoFixpointError(Exception):
    """The iterations come back to where they were, or go on past the limit."""


def evaluate(program, tables, universe, limit=200):
    """The rows of all relations; raises NoFixpointError."""
    rules = [(head, c.body) for c in program.all(Clause) for head in c.heads]
    reads = {}
    for head, body in rules:
        found = {
            node.relation for part in (head, body) if part for node in e.nodes_in(part) if isinstance(node, f.BodyAtom)
        }
        reads.setdefault(head.relation, set()).update(found - {head.relation} | _own(head, body))
    rows = {name: frozenset(found) for name, found in tables.items()}
    below = {name: _reached(name, reads) for name in reads}
    done = set()
    while len(done) < len(reads):
        ready = next(
            n for n in reads if n not in done and all(m in done or n in below[m] for m in below[n] if m in reads)
        )
        members = {ready, *(m for m in below[ready] if m in reads and ready in below[m])}
        _iterate(members, rules, rows, tables, universe, limit)
        done |= members
    return rows


def _own(head, body):
    mentioned = [n for n in e.nodes_in(body) if isinstance(n, f.BodyAtom)] if body else []
    return {head.relation} if any(atom.relation == head.relation for atom in mentioned) else set()


def _reached(name, reads):
    found, pending = set(), [name]
    while pending:
        for other in reads.get(pending.pop(), ()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found


def _iterate(members, rules, rows, tables, universe, limit):
    current, seen = {name: frozenset() for name in members}, []
    for _ in range(limit):
        now = {**rows, **current}
        following = {name: set(tables.get(name, ())) for name in members}
        for head, body in rules:
            if head.relation in members:
                following[head.relation] |= derived(head, body, now, universe)
        following = {name: frozenset(found) for name, found in following.items()}
        if following == current:
            rows.update(current)
            return
        if following in seen:
            break
        seen.append(following)
        current = following
    raise NoFixpointError


def derived(head, body, rows, universe):
    """The rows that a rule derives at once."""
    free = sorted(_free(head, body))
    bindings = _bindings(body, free, {}, rows, universe) if body else [{}]
    return {tuple(_value(a, env, rows, universe) for a in head.arguments) for env in bindings}


def _free(*parts):
    """The variables outside of aggregates and quantifiers."""
    found = set()
    for part in parts:
        if isinstance(part, e.Variable):
            found.add(part.name)
        elif isinstance(part, f.Quantified):
            found |= _free(part.part) - {v.name for v in part.variables}
        elif part is not None and not isinstance(part, f.AggregateExpression):
            found |= _free(*e.parts_of(part))
    return found


def _bindings(body, names, env, rows, universe, **how):
    for values in product(universe, repeat=len(names)):
        found = {**env, **dict(zip(names, values, strict=True))}
        if _holds(body, found, rows, universe, **how):
            yield found


def _holds(formula, env, rows, universe, negated=False, inside=False, counted=False):
    """Whether a formula holds, or does not, where it is `negated`; undefined comparisons are neither.

    But `inside` of a quantifier behind `!`, and of `exists` in a `counted` body, they do not hold.
    """

    def holds(part, turned=negated):
        return _holds(part, env, rows, universe, turned, inside, counted)

    if isinstance(formula, f.Conjunction | f.Disjunction):
        return (all if isinstance(formula, f.Conjunction) is not negated else any)(map(holds, formula.parts))
    if isinstance(formula, f.Negation):
        return holds(formula.part, not negated)
    if isinstance(formula, f.Implication):
        sides = (holds(formula.premise, not negated), holds(formula.conclusion))
        return all(sides) if negated else any(sides)
    if isinstance(formula, f.Quantified):
        names = [v.name for v in formula.variables]
        is_forall = formula.quantifier == "forall"
        is_absent = is_forall is not negated
        how = {"negated": is_forall, "inside": inside or is_absent or counted}
        found = any(True for _ in _bindings(formula.part, names, env, rows, universe, **how))
        return found is not is_absent
    if isinstance(formula, f.Truth):
        return formula.value is not negated
    if isinstance(formula, f.BodyComparison):
        left, right = (_value(side, env, rows, universe) for side in (formula.left, formula.right))
        if left is None or right is None:
            return negated and inside
        return COMPARE[formula.operator](left, right) is not negated
    assert isinstance(formula, f.BodyAtom)
    return _has_row(formula, env, rows, universe) is not negated


def _has_row(atom, env, rows, universe):
    found = rows.get(atom.relation, ())
    wanted = [None if isinstance(a, e.Wildcard) else _value(a, env, rows, universe) for a in atom.arguments]
    if None not in wanted:
        return tuple(wanted) in found
    return any(all(w is None or w == v for w, v in zip(wanted, row, strict=True)) for row in found)


def _value(expression, env, rows, universe):
    if isinstance(expression, e.Variable):
        return env[expression.name]
    if isinstance(expression, e.NumberLiteral):
        return expression.value
    if isinstance(expression, e.FunctorCall):
        left, right = (_value(a, env, rows, universe) for a in expression.arguments)
        return {"+": left + right, "-": left - right}[expression.functor]
    assert isinstance(expression, f.AggregateExpression)
    target = expression.targets[0] if expression.targets else None
    hidden = _free(target) if target else set()
    outer = {name: value for name, value in env.items() if name not in hidden}
    names = sorted(_free(expression.body) - outer.keys() | hidden)
    found = list(_bindings(expression.body, names, outer, rows, universe, counted=True))
    return AGGREGATES[expression.function]([_value(target, b, rows, universe) if target else 1 for b in found])
