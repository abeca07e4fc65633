"""Stratification: a relation may not depend on its own absence [FIX §1, footnote 4].

An occurrence under an even number of `!` grows with its relation, so a recursion through it has a least
fixpoint. A relation between two of them, `bad` of `tree(x) :- node(x), !bad(x). bad(x) :- child(x, y), !tree(y).`, is
a *helper*: it shrinks while the others grow, and is computed from them in each iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from deltic.catalog.components import components, odd_cycle
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.declarations import Signatures
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import Expression, NumberLiteral, UnsignedLiteral, Variable, variables
from deltic.datalog.syntax.formulas import (
    Aggregation,
    BodyAtom,
    BodyComparison,
    BodyFormula,
    Existential,
    Negation,
    bare,
    is_equation,
    mentions_of,
)
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic


@dataclass(frozen=True)
class Use:
    """A rule of a relation mentions another one, plainly or `through` negations "!" or aggregates of that name.

    `sign` is 1 if the rule's relation grows with the other one, -1 if it shrinks, and 0 if that is unknown.
    """

    user: str
    used: str
    sign: int
    through: str
    span: Span

    def __str__(self) -> str:
        way = self.through.replace("!!", "")
        return f"{way}{' over ' if way.strip('!') else ''}{self.used} ({self.span.place})"


@dataclass(frozen=True)
class Stratification:
    """The sets of mutually recursive relations in evaluation order, and the helpers in them in evaluation order.

    Results of Python operators that depend on the recursion are helpers, too.
    """

    names: tuple[tuple[str, ...], ...]
    helpers: tuple[str, ...]


def check_stratification(
    rules: Sequence[CheckedRule],
    applied: Sequence[Use],
    signatures: Signatures,
    hidden: Collection[str],
    subsumed: Mapping[str, tuple[str, str]],
    findings: Findings,
) -> Stratification:
    """Compute the strata; report cycles through an odd number of negations, and ambiguous helpers.

    `applied` are the relations that Python operators read. `subsumed` maps each relation with subsumption to the
    relations of all its rows and of the dominated ones. These are helpers if it is recursive; its negation of the
    dominated rows is allowed.
    """
    gone = {name: dominated for name, (_, dominated) in subsumed.items()}
    uses = [use for rule in rules for use in uses_of(rule) if use.user in signatures]
    uses = [replace(use, sign=0) if gone.get(use.user) == use.used else use for use in uses]
    uses += applied
    strata = _components([*signatures, *dict.fromkeys(use.user for use in applied)], uses)
    stratum = {name: number for number, names in enumerate(strata) for name in names}
    inner = [use for use in uses if stratum[use.user] == stratum.get(use.used)]
    reported: set[Use] = set()
    for use in inner:
        if use.sign < 0 and use not in reported and (cycle := odd_cycle(use, inner)):
            reported.update(cycle)
            findings.append(_finding(use, cycle))
    if reported:
        return Stratification(tuple(strata), ())
    signed = [use for use in inner if use.sign]
    halves = [_helpers(names, inner, hidden, findings) for names in _components(list(signatures), signed)]
    helpers = {name for half in halves for name in half}
    helpers |= {use.user for use in applied if use in inner}
    helpers |= {h for name, both in subsumed.items() for h in both if stratum.get(h) == stratum.get(name)}
    between = [use for use in inner if {use.user, use.used} <= helpers]
    order = _components([name for names in strata for name in names if name in helpers], between)
    findings.extend(_circle(use) for use in applied if any({use.user, use.used} <= {*names} for names in order))
    return Stratification(tuple(strata), tuple(itertools.chain.from_iterable(order)))


def uses_of(rule: CheckedRule) -> Iterator[Use]:
    """Yield the relations that a rule mentions, from left to right."""
    for relation, sign, through, span in _mentions(rule.head.arguments, rule.body, 1, ""):
        yield Use(rule.head.relation, relation, sign, through, span)


def _mentions(
    arguments: Sequence[Expression], body: Sequence[BodyFormula], sign: int, through: str
) -> Iterator[tuple[str, int, str, Span]]:
    for literal in body:
        inner = bare(literal)
        turned, way = (-sign, through + "!") if isinstance(literal, Negation) else (sign, through)
        if isinstance(inner, BodyAtom):
            yield inner.relation, turned, way, literal.span
        elif isinstance(inner, Existential):
            for inside in inner.bodies:
                yield from _mentions((), inside, turned, way)
        elif isinstance(inner, Aggregation):
            turned = sign * direction(inner, arguments, body)
            yield from _mentions(inner.targets, inner.body, turned, through + inner.function)


def _components(names: Sequence[str], uses: Sequence[Use]) -> list[tuple[str, ...]]:
    graph: dict[str, list[str]] = {name: [] for name in names}
    for use in uses:
        graph[use.user].append(use.used)
    return components(graph)


def _helpers(names: Sequence[str], uses: Sequence[Use], hidden: Collection[str], findings: Findings) -> Sequence[str]:
    """Return the mutually recursive relations that shrink while the others grow from empty.

    They must not be recursive by themselves, and the choice must be unique.
    """
    inner = [use for use in uses if {use.user, use.used} <= set(names)]
    first = next((use for use in inner if use.sign < 0), None)
    if first is None:
        return ()
    sides = {names[0]: 1}
    while len(sides) < len(names):
        for use in inner:
            if use.sign and use.user in sides:
                sides[use.used] = sides[use.user] * use.sign
    halves = [[name for name in names if sides[name] == side] for side in (1, -1)]
    able = [half for half in halves if not _is_recursive(half, inner)]
    chosen = [half for half in able if hidden and {*half} <= {*hidden}] if len(able) > 1 else able
    if len(chosen) == 1:
        return chosen[0]
    one, other = sorted((first.user, first.used), key=names.index)
    if able:
        message = f"`{one}` and `{other}` depend on each other's absence, and either could start empty"
        hint = f"declare the helper `inline`: `.decl {other}(...) inline`; "
        hint += f"then `{one}` starts empty"
    else:
        message = f"`{one}` and `{other}` depend on each other's absence, and both are recursive by themselves, too"
        hint = "one of them must be a helper, whose rules use no relation that depends on it but through another `!`"
    findings.append(first.span.error(message, hint))
    return ()


def _is_recursive(names: Sequence[str], uses: Sequence[Use]) -> bool:
    between = [use for use in uses if {use.user, use.used} <= {*names}]
    return any(use.user == use.used for use in between) or len(_components(names, between)) < len(names)


def _circle(use: Use) -> Diagnostic:
    message = f"`@{use.through}` and the helper `{use.used}` are computed from each other in the same iteration"
    return use.span.error(message, "one of them must depend on the other through a relation that is no helper")


def _finding(use: Use, cycle: Sequence[Use]) -> Diagnostic:
    if function := use.through.strip("!"):
        message = f"aggregate through recursion: `{use.user}` depends on a small `{function}` over `{use.used}`"
    else:
        message = f"negation through recursion: `{use.user}` depends on the absence of `{use.used}`"
    message += ", which depends on `" + use.user + "`" if use.used != use.user else ""
    return use.span.error(message, "the cycle is " + " -> ".join([use.user, *map(str, cycle)]))


_RISING = {"count", "max"}
_UP, _DOWN = {">", ">="}, {"<", "<="}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def direction(aggregation: Aggregation, arguments: Sequence[Expression], body: Sequence[BodyFormula]) -> int:
    """1 if the rule can only hold more often when the aggregate's body does, -1 if only less often, else 0.

    `arguments` are those of the rule's head, `body` is the body that contains the aggregate.
    """
    names = _names_of_result(aggregation, body)
    if any(v.name in names for argument in arguments for v in variables(argument)):
        return 0
    uses = [literal for literal in body if literal is not aggregation and _uses_any(literal, names)]
    turns = {_turn(aggregation, literal, names) for literal in uses if not _is_alias(literal, names)}
    return turns.pop() if len(turns) == 1 else 0


def _names_of_result(aggregation: Aggregation, body: Sequence[BodyFormula]) -> set[str]:
    """Return the names of the result, including variables that equal it."""
    names, size = {aggregation.result.name}, 0
    while size < len(names):
        size = len(names)
        for literal in body:
            if is_equation(literal):
                sides = [side.name for side in (literal.left, literal.right) if isinstance(side, Variable)]
                if len(sides) == 2 and names.intersection(sides):
                    names.update(sides)
    return names


def _uses_any(literal: BodyFormula, names: set[str]) -> bool:
    return any(v.name in names for v in mentions_of(literal)) or (
        isinstance(literal, Aggregation) and literal.result.name in names
    )


def _is_alias(literal: BodyFormula, names: set[str]) -> bool:
    return is_equation(literal) and all(
        isinstance(side, Variable) and side.name in names for side in (literal.left, literal.right)
    )


def _turn(aggregation: Aggregation, literal: BodyFormula, names: set[str]) -> int:
    """Return the direction of one comparison with the result; `min` and `max` of an empty body have no value."""
    if not isinstance(literal, BodyComparison) or literal.operator not in _UP | _DOWN:
        return 0
    left, right = (any(v.name in names for v in variables(side)) for side in (literal.left, literal.right))
    if left == right or not isinstance(literal.left if left else literal.right, Variable):
        return 0
    above = (literal.operator if left else _MIRRORED[literal.operator]) in _UP
    if aggregation.function == "min":
        return 0 if above else 1
    if not (aggregation.function in _RISING or _adds_up(aggregation)):
        return 0
    return 1 if above else 0 if aggregation.function == "max" else -1


def _adds_up(aggregation: Aggregation) -> bool:
    """Return whether it is a sum of a constant that is not negative."""
    if aggregation.function != "sum":
        return False
    (target,) = aggregation.targets
    return isinstance(target, NumberLiteral | UnsignedLiteral) and target.value >= 0
