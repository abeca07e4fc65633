"""Formulas over the relations of a program, which explain rules and delta queries to users.

An atom reads a relation before the change (r), after it (r'), or the rows that the change inserts (Δr) or
deletes (∇r) [FIX §4]. Variables are the variable numbers of rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit.expressions import show
from deltic.immutable import Immutable
from deltic.program.histories import BY_ITERATION
from deltic.program.queries import VARIABLE, Term, replace_columns, show_term, variable_name, variables_of

_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Formula(Immutable):
    """A logical formula over variables."""


class Holds(Formula):
    """An atom: the relation has this row; `mark` is "", "'", "Δ" or "∇"."""

    relation: str
    terms: tuple[Term, ...]
    mark: str = ""


class Where(Formula):
    """A condition on values."""

    condition: exp.Expression


class All(Formula):
    """A conjunction."""

    parts: tuple[Formula, ...]


class Any(Formula):
    """A disjunction."""

    parts: tuple[Formula, ...]


class Not(Formula):
    """A negation."""

    part: Formula


class Exists(Formula):
    """An existential quantifier: the part holds for some values of the variables."""

    variables: tuple[int, ...]
    part: Formula


@dataclass(frozen=True)
class Case:
    """The terms of an aggregate in one case: where `part` holds, for some values of the variables `local`."""

    terms: tuple[Term, ...]
    part: Formula
    local: tuple[int, ...] = ()


class Aggregated(Formula):
    """The term `result` is the aggregate of the first terms of all cases."""

    result: Term
    function: str
    cases: tuple[Case, ...]


def all_of(parts: Sequence[Formula]) -> Formula:
    """Return the conjunction of parts; a single part stays as it is."""
    flat = tuple(p for part in parts for p in (part.parts if isinstance(part, All) else (part,)))
    return flat[0] if len(flat) == 1 else All(flat)


def any_of(parts: Sequence[Formula]) -> Formula:
    """Return the disjunction of parts; a single part stays as it is."""
    return parts[0] if len(parts) == 1 else Any(tuple(parts))


def negated(formula: Formula) -> Formula:
    """Return the negation; a double negation is removed."""
    return formula.part if isinstance(formula, Not) else Not(formula)


def some(variables: Sequence[int], part: Formula) -> Formula:
    """Return the part with those of the variables that occur in it existentially quantified."""
    local = tuple(dict.fromkeys(v for v in mentioned(part) if v in variables))
    return Exists(local, part) if local else part


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the direct parts of a formula."""
    if isinstance(formula, All | Any):
        return formula.parts
    if isinstance(formula, Aggregated):
        return tuple(case.part for case in formula.cases)
    return (formula.part,) if isinstance(formula, Not | Exists) else ()


def mentioned(formula: Formula) -> list[int]:
    """Return the variables that atoms, conditions and aggregates of a formula contain, in order and with
    repetitions.
    """
    terms: tuple[Term, ...] = ()
    if isinstance(formula, Holds):
        terms = formula.terms
    if isinstance(formula, Where):
        terms = (formula.condition,)
    if isinstance(formula, Aggregated):
        terms = (formula.result, *(case.terms[0] for case in formula.cases if case.terms))
    own = [v for term in terms for v in variables_of(term)]
    return [*own, *(v for part in parts_of(formula) for v in mentioned(part))]


def substituted(formula: Formula, terms: Mapping[int, Term]) -> Formula:
    """Return the formula with variables replaced by terms, bound ones too."""

    def of(part: Formula) -> Formula:
        return substituted(part, terms)

    if isinstance(formula, Holds):
        return replace(formula, terms=tuple(replaced(t, terms) for t in formula.terms))
    if isinstance(formula, Where):
        condition = replaced(formula.condition, terms)
        assert not isinstance(condition, int)
        return Where(condition)
    if isinstance(formula, All | Any):
        return replace(formula, parts=tuple(map(of, formula.parts)))
    if isinstance(formula, Exists):
        return Exists(tuple(_variable(v, terms) for v in formula.variables), of(formula.part))
    if isinstance(formula, Aggregated):
        cases = tuple(
            Case(
                tuple(replaced(t, terms) for t in case.terms),
                of(case.part),
                tuple(_variable(v, terms) for v in case.local),
            )
            for case in formula.cases
        )
        return replace(formula, result=replaced(formula.result, terms), cases=cases)
    assert isinstance(formula, Not)
    return Not(of(formula.part))


def _variable(variable: int, terms: Mapping[int, Term]) -> int:
    result = terms.get(variable, variable)
    assert isinstance(result, int)
    return result


def replaced(term: Term, terms: Mapping[int, Term]) -> Term:
    """Return the term with variables replaced by terms."""
    if isinstance(term, int):
        return terms.get(term, term)
    return replace_columns(term, {variable_name(v): t for v, t in terms.items()})


@dataclass(frozen=True)
class Occurrence:
    """An atom of a formula, with the number of negations and the aggregates around it."""

    atom: Holds
    negations: int
    aggregates: tuple[str, ...]


def occurrences(formula: Formula, negations: int = 0, aggregates: tuple[str, ...] = ()) -> Iterator[Occurrence]:
    """Yield the atoms of a formula, from left to right."""
    if isinstance(formula, Holds):
        yield Occurrence(formula, negations, aggregates)
    inside = (*aggregates, formula.function) if isinstance(formula, Aggregated) else aggregates
    for part in parts_of(formula):
        yield from occurrences(part, negations + isinstance(formula, Not), inside)


def named(lines: Sequence[str], names: Mapping[int, str]) -> list[str]:
    """Lines with variables shown by name; different variables get different names."""
    given: dict[str, int] = {}
    result: dict[int, str] = {}
    for match in re.finditer(VARIABLE, "\n".join(lines)):
        if (variable := int(match[1])) not in result:
            base = re.sub(r"_\d+$", "", names.get(variable, "")) or "v"
            given[base] = given.get(base, 0) + 1
            result[variable] = base + (str(given[base]).translate(_LOW) if given[base] > 1 else "")
    return [re.sub(VARIABLE, lambda match: result[int(match[1])], line) for line in lines]


def text(formula: Formula) -> str:
    """Return the formula in the papers' notation, with ¬∃(… ∧ ¬…) written as ∀(… → …) and variables shown by number."""
    counts = Counter(mentioned(formula))
    return _text(formula, {v for v in quantified(formula) if counts[v] == 1})


def quantified(formula: Formula) -> Iterator[int]:
    """Yield the variables that a formula quantifies."""
    if isinstance(formula, Exists):
        yield from formula.variables
    if isinstance(formula, Aggregated):
        yield from (v for case in formula.cases for v in case.local)
    for part in parts_of(formula):
        yield from quantified(part)


def _text(formula: Formula, alone: set[int]) -> str:
    """Return the text; the variables `alone`, which occur once, are shown as `_`."""
    if isinstance(formula, Holds):
        return _atom(formula, alone)
    if isinstance(formula, Where):
        return show(formula.condition)
    if isinstance(formula, All | Any):
        sign, other = (" ∧ ", Any) if isinstance(formula, All) else (" ∨ ", All)
        shown = (
            f"({_text(p, alone)})" if isinstance(_bare(p, alone), other) else _text(p, alone) for p in formula.parts
        )
        return sign.join(shown) or ("⊤" if isinstance(formula, All) else "⊥")
    if isinstance(formula, Exists):
        sign = _quantified("∃", formula.variables, alone)
        return sign + _grouped(formula.part, alone) if sign else _text(formula.part, alone)
    if isinstance(formula, Aggregated):
        pairs = ((", ".join(map(show_term, case.terms)), _text(case.part, alone)) for case in formula.cases)
        cases = "; ".join(f"{terms}: {part}".lstrip(": ") for terms, part in pairs)
        return f"{show_term(formula.result)} = {formula.function} {{{cases}}}"
    assert isinstance(formula, Not)
    return _universal(formula.part, alone) or f"¬{_grouped(formula.part, alone)}"


def _bare(formula: Formula, alone: set[int]) -> Formula:
    """Return the formula without quantifiers that are not shown."""
    hidden = isinstance(formula, Exists) and alone.issuperset(formula.variables)
    return _bare(formula.part, alone) if isinstance(formula, Exists) and hidden else formula


def _atom(atom: Holds, alone: set[int]) -> str:
    shown = ", ".join("_" if isinstance(t, int) and t in alone else show_term(t) for t in atom.terms)
    name = atom.relation.removesuffix(BY_ITERATION)
    return f"{name}'({shown})" if atom.mark == "'" else f"{atom.mark}{name}({shown})"


def _universal(part: Formula, alone: set[int]) -> str:
    """Return the text of ¬part if it can be written as ∀(… → …); else ""."""
    inner = part.part if isinstance(part, Exists) else part
    if not isinstance(part, Exists) or not isinstance(inner, All):
        return ""
    premises = [p for p in inner.parts if not isinstance(p, Not)]
    conclusions = [p.part for p in inner.parts if isinstance(p, Not)]
    if not premises or not conclusions:
        return ""
    arrow = f"{_grouped(all_of(premises), alone, Any)} → {_grouped(any_of(conclusions), alone, Any, All)}"
    return f"{_quantified('∀', part.variables, alone)}({arrow})"


def _quantified(sign: str, variables: Sequence[int], alone: set[int]) -> str:
    shown = [show_term(v) for v in variables if v not in alone]
    return f"{sign}{', '.join(shown)}." if shown else ""


def _grouped(formula: Formula, alone: set[int], *kinds: type[Formula]) -> str:
    """Return the text, in parentheses if the formula has one of these kinds.

    Without kinds it has parentheses unless it is an atom or starts with a sign.
    """
    bare = _bare(formula, alone)
    tight = not isinstance(bare, kinds) if kinds else isinstance(bare, Holds | Not | Exists)
    return _text(formula, alone) if tight else f"({_text(formula, alone)})"
