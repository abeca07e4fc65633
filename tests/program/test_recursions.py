"""What `explain` says of recursions, the formulas of rules and what comes and goes by each change, is what is computed.

Catches: a formula of the text that is not the rule's, a query whose Δ or ∇ is another than the text says, and a
difference between compiled delta queries and the symbolic derivatives of the theory [FIX Fig. 2].
"""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from sqlglot import exp

import deltic
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.operators.custom import Apply
from deltic.datalog import check, lower, parse
from deltic.datalog.syntax.program import Clause
from deltic.engine.engine import IncrementalEngine
from deltic.program import formulas as f
from deltic.program.compiling import program_of
from deltic.program.factoring import conjunction
from deltic.program.histories import BY_ITERATION, Examined
from deltic.program.operators.aggregate import Grouped
from deltic.program.queries import variable_name, variable_of, variables_of
from deltic.program.recursions import StratumFormulas
from deltic.values.types import Type
from deltic_theory.boolean import Change
from deltic_theory.formulas import syntax as t
from deltic_theory.formulas.derivative import PRECISE
from deltic_theory.formulas.meaning import denote
from deltic_theory.formulas.relations import Model
from tests.datalog.by_tree import AGGREGATES, derived
from tests.datalog.test_extended import TABLES, random_extended
from tests.engine.signed_bodies import Body, random_body

UNIVERSE = range(4)
VALUES = {"p": 1, "q": 2, "v": 2}


class World:
    """Contents of relations before and after a change: given of tables and recursive relations, computed of helpers."""

    def __init__(self, program, given):
        self.program, self.known = program, dict(given)

    def rows(self, name):
        name = name.removesuffix(BY_ITERATION)
        if name not in self.known:
            self.known[name] = frozenset(self._computed(name))
        return self.known[name]

    def _computed(self, name):
        definition = self.program.relations[name].definition
        if isinstance(definition, Examined):
            source, function = definition.source, definition.function
        else:
            source, function = (definition.source, definition) if isinstance(definition, Grouped) else (name, None)
        found = summed(self.program.rules_of(source), self)
        rows = [row for row, count in found.items() for _ in range(count)]
        if function is None:
            return set(rows)
        groups = {}
        for row in rows:
            groups.setdefault(row[: function.keys], []).append(row)
        return {(*key, *(_called(call, members) for call in function.calls)) for key, members in groups.items()}

    def rows_of(self, atom):
        return self.rows(atom.relation)


def summed(rules, world):
    """How often each row is derived by some rules together, each with its sign."""
    found = Counter()
    for rule in rules:
        for row, count in counted(rule.terms, conjunction(rule.body), world.rows_of).items():
            found[row] += rule.body.sign * count
    assert min(found.values(), default=0) >= 0
    return +found


def _called(call, members):
    return AGGREGATES[call.function]([row[call.columns[0]] if call.columns else 1 for row in members])


def value(term, binding):
    if isinstance(term, int):
        return binding[term]
    types = {variable_name(v): Type.INT64 for v in variables_of(term)}
    return evaluate(term, {variable_name(v): binding[v] for v in variables_of(term)}, types)


def solutions(formula, binding, rows):
    """The bindings that make a formula true, one for each way; ∃ and ∨ are one way, however many there are inside."""
    if isinstance(formula, f.Holds):
        for row in rows(formula):
            found = dict(binding)
            if all(_match(term, cell, found) for term, cell in zip(formula.terms, row, strict=True)):
                yield found
    elif isinstance(formula, f.All):
        yield from _joined(list(formula.parts), binding, rows)
    elif isinstance(formula, f.Any):
        yield from _each([b for part in formula.parts for b in solutions(part, binding, rows)])
    elif isinstance(formula, f.Exists):
        inside = solutions(formula.part, binding, rows)
        yield from _each([{v: x for v, x in b.items() if v not in formula.variables} for b in inside])
    elif isinstance(formula, f.Not):
        if not any(True for _ in solutions(formula.part, binding, rows)):
            yield binding
    elif isinstance(formula, f.Aggregated):
        yield from _aggregated(formula, binding, rows)
    else:
        yield from _where(formula.condition, binding)


def _each(bindings):
    return {tuple(sorted(b.items())): b for b in bindings}.values()


def _match(term, cell, found):
    if isinstance(term, int):
        return found.setdefault(term, cell) == cell
    return value(term, found) == cell


def _where(condition, binding):
    for side, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if isinstance(condition, exp.EQ) and isinstance(side, exp.Column) and variable_of(side.name) not in binding:
            yield {**binding, variable_of(side.name): value(other, binding)}
            return
    if value(condition, binding) is True:
        yield binding


def _aggregated(formula, binding, rows):
    values = []
    for case in formula.cases:
        found = _each(list(solutions(case.part, binding, rows)))
        values += [value(case.terms[0], b) if case.terms else 1 for b in found]
    result = AGGREGATES[formula.function](values)
    if values and result is not None:
        found = dict(binding)
        if _match(formula.result, result, found):
            yield found


def _joined(parts, binding, rows):
    if not parts:
        yield binding
        return
    part = min(parts, key=lambda p: _rank(p, binding))
    rest = [p for p in parts if p is not part]
    for found in solutions(part, binding, rows):
        yield from _joined(rest, found, rows)


def _rank(part, binding):
    if isinstance(part, f.Where):
        free = {v for v in f.mentioned(part) if v not in binding}
        sides = (part.condition.this, part.condition.expression)
        names = {variable_of(side.name) for side in sides if isinstance(side, exp.Column)}
        binds = len(free) == 1 and isinstance(part.condition, exp.EQ) and names & free
        return 0 if not free or binds else 9
    return {f.Holds: 1, f.Exists: 2, f.Any: 2, f.All: 2, f.Aggregated: 3, f.Not: 4}[type(part)]


def random_rows(rng, width):
    return frozenset(tuple(rng.randrange(4) for _ in range(width)) for _ in range(rng.randrange(0, 3 + 3 * width)))


def random_case(seed):
    rng = random.Random(seed)
    text = random_extended(rng)
    program = program_of(lower(check([parse(re.sub(r"<z\d+>", "", text))])))
    tree = parse(re.sub(r"<(z\d+)>", r"exists \1: ", text))
    recursions = [StratumFormulas(program, stratum) for stratum in program.strata if stratum.recursive]
    given = {head.removesuffix(BY_ITERATION) for recursion in recursions for head in recursion.heads}
    wide = {**TABLES, **{name: width for name, width in VALUES.items() if name in given}}
    states = [{name: random_rows(rng, width) for name, width in wide.items()} for _ in range(2)]
    lines = "\n".join(line for recursion in recursions for line in recursion.lines())
    return f"seed {seed}\n{text}\n{lines}\n{states}", program, tree, states, recursions


def counted(terms, formula, rows):
    """How often each row of a head is derived."""
    found = Counter()
    for binding in solutions(formula, {}, rows):
        found[tuple(value(term, binding) for term in terms)] += 1
    return found


def check_meaning(case):
    """The formulas, helpers unfolded, against the syntax tree, for any rows of the recursive relations."""
    shown, program, tree, (state, _), recursions = case
    world = World(program, state)
    known = {name: world.rows(program.sinks[name]) for name in VALUES} | state
    rules = [(head, c.body) for c in tree.all(Clause) for head in c.heads]
    for recursion in recursions:
        for name in recursion.heads:
            variables, view = recursion.variables(name), name.removesuffix(BY_ITERATION)
            bindings = solutions(recursion.formula(name, variables), {}, world.rows_of)
            found = {tuple(binding[v] for v in variables) for binding in bindings}
            parts = (derived(head, body, known, UNIVERSE) for head, body in rules if head.relation == view)
            assert found == set().union(*parts), f"{name} of {shown}"


def check_changes(case):
    """What comes less what goes, by each part of each relation, against the derivations before and after.

    How many of them were compared with the theory, too.
    """
    shown, program, _, states, recursions = case
    old, new = (World(program, state) for state in states)
    named = [(name, part) for r in recursions for name, parts in r.parts.items() for part in parts]
    for name in dict.fromkeys(name for name, _ in named):
        sums = [counted(part.terms, part.formula, old.rows_of) for own, part in named if own == name]
        assert all(part.sign > 0 for _, part in named)
        assert sum(sums, Counter()) == summed(program.rules_of(name), old), f"{name} of {shown}"
    return sum(check_part(part, old, new, f"{name} of {shown}") for name, part in named)


def check_part(part, old, new, shown):
    before, after = (counted(part.terms, part.formula, world.rows_of) for world in (old, new))
    moved = Counter()
    for change in part.changes:
        for sign, gain in ((1, True), (-1, False)):
            for row, count in counted(part.terms, change.of(gain), lambda a: _marked(a, old, new)).items():
                moved[row] += sign * count
    assert all(moved[r] == after[r] - before[r] for r in {*moved, *before, *after}), shown
    return check_theory(part, old, new, before, after)


def _marked(atom, old, new):
    before, after = old.rows(atom.relation), new.rows(atom.relation)
    return {"": before, "'": after, "Δ": after - before, "∇": before - after}[atom.mark]


def check_theory(part, old, new, before, after):
    """The rows that come and go against Δ and ∇ of the theory, where the formula is one of its language."""
    formula = translated(f.some([v for v in f.mentioned(part.formula) if v not in part.terms], part.formula))
    if formula is None or len({v for v in part.terms if isinstance(v, int)}) < len(part.terms):
        return 0
    names = t.relations(formula)
    rows = {n: old.rows(n) for n in names}
    if any(x not in UNIVERSE for n in names for r in (*old.rows(n), *new.rows(n)) for x in r):
        return 0
    changes = {n: Change(new.rows(n) - old.rows(n), old.rows(n) - new.rows(n)) for n in names}
    model = Model(rows, changes, universe=tuple(UNIVERSE))
    columns = tuple(f"v{v}" for v in part.terms)
    ups, downs = (denote(way(formula), columns, model) for way in (PRECISE.up, PRECISE.down))
    assert ups == {r for r in after if not before[r]}
    assert downs == {r for r in before if not after[r]}
    return 1


OPERATORS = {exp.LT: "<", exp.LTE: "≤", exp.GT: ">", exp.GTE: "≥", exp.NEQ: "≠"}


def translated(formula):
    """The formula of the theory, None where it has an aggregate or arithmetic."""
    if isinstance(formula, f.Holds):
        terms = [_term(term) for term in formula.terms]
        return None if None in terms else t.Atom(formula.relation, tuple(terms))
    if isinstance(formula, f.Where):
        sides = [_term(side) for side in (formula.condition.this, formula.condition.expression)]
        if None in sides or type(formula.condition) not in {**OPERATORS, exp.EQ: "="}:
            return None
        operator = OPERATORS.get(type(formula.condition))
        return t.Compare(operator, *sides) if operator else t.Equal(*sides)
    inner = [translated(part) for part in f.parts_of(formula)]
    if None in inner or isinstance(formula, f.Aggregated):
        return None
    if isinstance(formula, f.Not):
        return ~inner[0]
    if isinstance(formula, f.Exists):
        return t.exists(*(f"v{v}" for v in formula.variables), inner[0])
    found = t.TOP if isinstance(formula, f.All) else t.BOTTOM
    for part in inner:
        found = found & part if isinstance(formula, f.All) else found | part
    return found


def _term(term):
    if isinstance(term, exp.Column):
        return t.Var(f"v{variable_of(term.name)}")
    if isinstance(term, exp.Literal) and not term.is_string:
        return t.Const(int(term.this))
    return t.Var(f"v{term}") if isinstance(term, int) else None


def check_program(seed):
    case = random_case(seed)
    check_meaning(case)
    return check_changes(case)


def check_body(seed):
    """Any body of two recursive relations over pairs: antijoins in antijoins, sums and aggregates."""
    rng = random.Random(seed)
    program = program_of(random_body(rng))
    states = [{name: random_rows(rng, 2) for name in "efpq"} for _ in range(2)]
    recursions = [StratumFormulas(program, stratum) for stratum in program.strata if stratum.recursive]
    lines = "\n".join(line for recursion in recursions for line in recursion.lines())
    return check_changes((f"seed {seed}\n{lines}\n{states}", program, None, states, recursions))


def test_a_negation_in_a_negation_of_the_same_columns():
    """1 − b + b ⋈ c is ¬(b ∧ ¬c)."""
    body = Body()
    node, other, recursive = body.table("e", "x", "y"), body.table("f", "x", "y"), body.feedback("p", "x", "y")
    absent = body.without(other, body.map(recursive, x="x", y="y"))
    program = program_of(body.circuit(p=body.distinct(body.without(node, absent))))
    rng = random.Random(0)
    states = [{name: random_rows(rng, 2) for name in "efp"} for _ in range(2)]
    recursions = [StratumFormulas(program, stratum) for stratum in program.strata if stratum.recursive]
    lines = [line.strip() for line in recursions[0].lines()]
    assert lines[1] == "p(x, y) ← e(x, y) ∧ ¬(f(x, y) ∧ ¬p(x, y))"
    assert check_changes(("", program, None, states, recursions))


def test_an_operator_without_a_derivative_says_what_it_costs():
    numbers = {"x": "int64"}
    made = deltic.operator(lambda rows: [(x // 2,) for (x,), _ in rows], name="halves", takes=[numbers], gives=numbers)
    body = Body()
    given, found = body.table("s", "x"), body.feedback("p", "x")
    halved = body.builder.add(Apply(made.entry), found)
    text = IncrementalEngine(body.circuit(p=body.distinct(given, halved))).explain("p")
    assert "p: signed histories: they are made by" in text
    assert (
        "f(a ⊕ Δa) ⊖ f(a), for it has no derivative: each look costs all rows of its inputs and of its result" in text
    )
    assert "recomputed from whole inputs: halves" in text


def test_formulas_and_changes_of_random_bodies():
    assert sum(map(check_body, range(40))) > 100


def test_formulas_and_changes_of_random_programs():
    assert sum(map(check_program, range(5))) > 20


@pytest.mark.slow
def test_formulas_and_changes_of_many_random_programs():
    assert sum(map(check_body, range(100, 300))) > 500
    assert sum(map(check_program, range(100, 140))) > 200
