"""Explanations of recursions from the compiled program: the formula of each rule, and the inserts and deletes by query.

A helper relation, which has the iteration of its readers, is replaced by its definition in formulas; its own
changes are explained under its name. Formulas and changes are read from the rules and their delta queries.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.errors import count_of
from deltic.program import factoring
from deltic.program import formulas as f
from deltic.program.definitions import Definition
from deltic.program.factoring import Factored, factored_rules
from deltic.program.histories import BY_ITERATION, Examined, Historical, Nested, RelationFunctionDefinition
from deltic.program.operators.aggregate import Grouped
from deltic.program.program import Program, Stratum
from deltic.program.queries import Atom, Query, Term, as_expression, variables_of

# The order in which a query visits the atoms of its body, as their positions.
Order = Callable[[Query], Sequence[int]]
_LONGEST = 400


def in_order(query: Query) -> Sequence[int]:
    """Return the change first, then the other atoms in the order of the body."""
    first = query.body.atoms.index(query.delta)
    return [first, *(i for i in range(len(query.body.atoms)) if i != first)]


@dataclass(frozen=True)
class FormulaChange:
    """The rows that a change of an atom derives; `sign` is −1 where the relation loses what the atom gains."""

    sign: int
    formula: f.Formula

    def of(self, gain: bool) -> f.Formula:
        """Return the formula of the inserted rows if `gain`, else of the deleted rows."""
        return self.formula if gain is (self.sign > 0) else _lost(self.formula)


@dataclass(frozen=True)
class FormulaPart:
    """The rows that a formula adds to a relation, or subtracts from it, and the effects of changes of its atoms."""

    terms: tuple[Term, ...]
    sign: int
    formula: f.Formula
    changes: tuple[FormulaChange, ...]


class StratumFormulas:
    """A stratum of a program as formulas."""

    def __init__(self, program: Program, stratum: Stratum, order: Order = in_order) -> None:
        self.program, self.stratum, self.order = program, stratum, order
        self.members = frozenset(stratum.relations)
        numbers = (v for rule in program.rules for v in rule.body.types)
        self._fresh = itertools.count(max(numbers, default=0) + 1)
        self.names: dict[int, str] = {}
        self.parts = {name: self._parts(name) for name in stratum.relations}

    @property
    def shown(self) -> list[str]:
        """The relations that are explained on lines of their own; inputs of sets and aggregates are not."""
        followed = {d.source for name in self.stratum.relations if isinstance(d := self._definition(name), Examined)}
        return [name for name in self.stratum.relations if name not in followed]

    @property
    def heads(self) -> list[str]:
        """The relations whose rows appear one iteration after they are derived; without histories, all relations."""
        return [name for name in self.shown if not self._is_helper(name)]

    def _definition(self, name: str) -> Definition:
        return self.program.relations[name].definition

    def _is_helper(self, name: str) -> bool:
        definition = self._definition(name)
        return isinstance(definition, Historical) and definition.delay == 0

    def _parts(self, name: str) -> list[FormulaPart]:
        result = []
        for together in factored_rules(self.program.rules_of(name)):
            first = together.rules[0]
            for rule in (*together.rules, *together.originals):
                self.names = {**rule.body.names, **self.names}
            result.append(FormulaPart(first.terms, first.body.sign, together.formula, tuple(self._changes(together))))
        return result

    def _changes(self, together: Factored) -> Iterator[FormulaChange]:
        """For each atom the sum of the delta queries of all rules that follow its change."""
        following: dict[Atom, list[tuple[Query, Query]]] = defaultdict(list)
        for rule, original in zip(together.rules, together.originals, strict=True):
            for query, compiled in zip(rule.queries(), original.queries(), strict=True):
                following[query.delta].append((query, compiled))
        for queries in following.values():
            first, compiled = queries[0]
            order = self.order(compiled)
            formula = factoring.factored([query.body for query, _ in queries], order)
            if formula is not None:
                yield FormulaChange(first.body.sign, formula)
            else:
                yield from (FormulaChange(q.body.sign, factoring.conjunction(q.body, in_order(q))) for q, _ in queries)

    # Formulas

    def formula(self, name: str, terms: Sequence[Term], whole: bool = True) -> f.Formula:
        """Return the formula for a row of the relation; with `whole`, helpers are replaced by their definitions."""
        definition = self._definition(name)
        if isinstance(definition, Examined):
            if isinstance(definition.function, Grouped):
                return self._aggregated(definition.source, definition.function, terms, whole)
            if definition.function is not None:
                return f.Holds(name, tuple(terms))
            name = definition.source
        if isinstance(definition, RelationFunctionDefinition) or any(part.sign < 0 for part in self.parts[name]):
            return f.Holds(name, tuple(terms))
        return f.any_of([self._instance(part, terms, whole) for part in self.parts[name]] or [f.Not(f.All(()))])

    def _instance(self, part: FormulaPart, terms: Sequence[Term], whole: bool) -> f.Formula:
        """Return the formula of a rule with terms for its head's variables."""
        case = self._case(part, whole)
        known: dict[int, Term] = {}
        equal: list[f.Formula] = []
        for own, term in zip(case.terms, terms, strict=True):
            if isinstance(own, int) and own not in known:
                known[own] = term
            elif own != term:
                equal.append(f.Where(_equal(own, term)))
        formula = f.substituted(f.all_of([case.part, *equal]), known)
        return f.some([v for v in case.local if v not in known], formula)

    def _case(self, part: FormulaPart, whole: bool) -> f.Case:
        """Return a rule with fresh variables."""
        own = dict.fromkeys((*f.mentioned(part.formula), *(v for t in part.terms for v in variables_of(t))))
        fresh: dict[int, Term] = {v: next(self._fresh) for v in own}
        for old, new in fresh.items():
            assert isinstance(new, int)
            if old in self.names:
                self.names[new] = self.names[old]
        formula = f.substituted(part.formula, fresh)
        if whole:
            formula = self._unfolded(formula)
        terms = tuple(f.replaced(t, fresh) for t in part.terms)
        heads = {v for t in terms for v in variables_of(t)}
        return f.Case(terms, formula, tuple(v for v in fresh.values() if isinstance(v, int) and v not in heads))

    def _unfolded(self, formula: f.Formula) -> f.Formula:
        if isinstance(formula, f.Holds) and formula.relation in self.members and self._is_helper(formula.relation):
            return self.formula(formula.relation, formula.terms)
        if isinstance(formula, f.All):
            return f.all_of([self._unfolded(part) for part in formula.parts])
        if isinstance(formula, f.Not):
            return f.negated(self._unfolded(formula.part))
        return formula

    def _aggregated(self, rows: str, function: Grouped, terms: Sequence[Term], whole: bool) -> f.Formula:
        keys, values = terms[: function.keys], terms[function.keys :]
        result = []
        for call, value in zip(function.calls, values, strict=True):
            cases = []
            for part in self.parts[rows]:
                case = self._case(part, whole)
                known = dict(zip(case.terms[: function.keys], keys, strict=True))
                targets = tuple(case.terms[c] for c in call.columns)
                plain = {own: term for own, term in known.items() if isinstance(own, int)}
                equal = [f.Where(_equal(own, t)) for own, t in known.items() if not isinstance(own, int) and own != t]
                inside = f.substituted(f.all_of([case.part, *equal]), plain)
                local = tuple(
                    v for v in dict.fromkeys(f.mentioned(inside)) if v not in plain.values() and v not in _of(keys)
                )
                cases.append(f.Case(tuple(f.replaced(t, plain) for t in targets), inside, local))
            result.append(f.Aggregated(value, call.function, tuple(cases)))
        return f.all_of(result)

    # Text

    def lines(self) -> Iterator[str]:
        """Yield the explanation of the whole recursion, line by line."""
        yield f"{', '.join(map(_shown, self.heads))}: {self.strategy()}"
        for name in self.shown:
            yield from (f"  {line}" for line in self._lines(name))

    def strategy(self) -> str:
        """Return the evaluation strategy of the recursion, positive or signed, and the reason."""
        if not self.stratum.signed:
            return "positive recursion: no rule takes a row away, so that of each row the first iteration is kept"
        return f"signed histories: {self._reason()}, so that rows may come at one iteration and go at a later one"

    def _reason(self) -> str:
        for name in self.heads:
            for result in f.occurrences(self.formula(name, self.variables(name))):
                around = [*result.aggregates, *["¬"] * bool(result.negations)]
                if result.atom.relation in self.heads and around:
                    return f"{_shown(result.atom.relation)} stands under {' and '.join(around)}"
        inside = [d.component for n in self.stratum.relations if isinstance(d := self._definition(n), Nested)]
        if inside:
            return f"it contains another recursion, of {inside[0]}"
        definitions = [self._definition(name) for name in self.stratum.relations]
        made = [d.called for d in definitions if isinstance(d, RelationFunctionDefinition)]
        made += [str(d.function) for d in definitions if isinstance(d, Examined) and d.function]
        return f"they are made by {made[0]}" if made else "rows count as often as they are derived"

    def variables(self, name: str) -> tuple[int, ...]:
        """Fresh variables for the columns of a relation."""
        made = []
        for column in self.program.relations[name].schema.names:
            made.append(next(self._fresh))
            self.names[made[-1]] = column
        return tuple(made)

    def _lines(self, name: str) -> Iterator[str]:
        definition, rows = self._definition(name), name
        if isinstance(definition, Examined):
            if definition.function is not None:
                yield from f.named(list(self._examined(name, definition, definition.function)), self.names)
                return
            rows = definition.source
        if isinstance(definition, RelationFunctionDefinition):
            yield from f.named(list(self._whole(name, definition)), self.names)
        for part in self.parts[rows]:
            yield from f.named(list(self._rule(name, part, definition.is_set or rows != name)), self.names)

    def _rule(self, name: str, part: FormulaPart, is_set: bool) -> Iterator[str]:
        """Yield a rule, the parity of its recursive atoms, and the rows that it inserts and deletes."""
        whole = not self._is_helper(name)
        unfolded = self._unfolded(part.formula) if whole else part.formula
        shown = f.text(_closed(part.terms, unfolded))
        if len(shown) > _LONGEST:
            shown = f.text(_closed(part.terms, part.formula))
        yield f"{f.text(f.Holds(name, part.terms))} ←{' −' * (part.sign < 0)} {shown}"
        if whole:
            yield from self._parities(unfolded)
        for mark, gain, kept in (("Δ", True, "where it was not there"), ("∇", False, "where nothing else derives it")):
            sums = " + ".join(f.text(_closed(part.terms, change.of(gain))) for change in part.changes)
            if sums:
                yield f"  {mark}: {sums}" + (f", {kept}" if is_set else "")

    def _parities(self, formula: f.Formula) -> Iterator[str]:
        """Yield the parity of each recursive atom of a rule."""
        result = ((f.text(o.atom), _parity(o)) for o in f.occurrences(formula) if o.atom.relation in self.heads)
        yield from (f"  {atom} stands {parity}" for atom, parity in dict.fromkeys(result))

    def _examined(self, name: str, definition: Examined, function: Definition) -> Iterator[str]:
        """Yield the explanation of a function of each group."""
        variables = self.variables(name)
        whole = self.formula(name, variables, whole=not self._is_helper(name))
        grouped = isinstance(function, Grouped)
        yield f"{f.text(f.Holds(name, variables))} ← {f.text(whole) if grouped else function}"
        if not self._is_helper(name):
            yield from self._parities(whole)
        changes = ((part.terms, change) for part in self.parts[definition.source] for change in part.changes)
        keyed = (_closed([terms[k] for k in definition.keys], change.formula) for terms, change in changes)
        touched = " + ".join(map(f.text, keyed))
        groups = "each group" if definition.keys else "all rows, which are one group"
        yield f"  ∇, Δ: the old and the new result of {groups}, where rows of it change by {touched}"

    def _whole(self, name: str, definition: RelationFunctionDefinition) -> Iterator[str]:
        """Yield the explanation of a function of whole relations."""
        inputs = ", ".join(definition.inputs)
        yield f"{f.text(f.Holds(name, self.variables(name)))} ← {definition.called} of {inputs}"
        yield f"  ∇, Δ: at each iteration at which one of them changes, {definition.cost}"


def _parity(place: f.Occurrence) -> str:
    """Return the parity of an atom in a formula, as text."""
    behind = f"under {count_of(place.negations, 'negation')}" if place.negations else "under no negation"
    if place.aggregates:
        return f"in {', '.join(place.aggregates)}, {behind}: each change of its group is examined"
    return f"{behind}, {'odd: what it gains is lost' if place.negations % 2 else 'even: what it gains can only add'}"


def _closed(terms: Sequence[Term], formula: f.Formula) -> f.Formula:
    """Return the formula with all variables quantified that are not in the head."""
    known = {*_of(terms), *f.quantified(formula)}
    return f.some([v for v in f.mentioned(formula) if v not in known], formula)


def _shown(name: str) -> str:
    return name.removesuffix(BY_ITERATION)


def _lost(formula: f.Formula) -> f.Formula:
    """Return the formula with deletions in place of insertions."""
    if isinstance(formula, f.Holds):
        return replace(formula, mark="∇") if formula.mark == "Δ" else formula
    if isinstance(formula, f.All):
        return f.All(tuple(map(_lost, formula.parts)))
    return formula


def _equal(left: Term, right: Term) -> exp.Expression:
    return exp.EQ(this=as_expression(left).copy(), expression=as_expression(right).copy())


def _of(terms: Sequence[Term]) -> set[int]:
    return {v for term in terms for v in variables_of(term)}
