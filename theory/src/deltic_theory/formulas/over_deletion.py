"""Over-deletion: a start for maintenance that is below the new fixpoint and keeps what is certain to stay.

Removed are the facts that lose *some* derivation: through a changed table, or through a fact that is removed already.
What remains has, for each fact, a derivation from what remains, so it is below the new least fixpoint: by induction
over the old iterations, a fact first derived at one of them would, had it lost all its derivations, have lost that one.

The induction needs that what a formula loses grows with the facts. So ∇ is taken without the checks for other
derivations, and where a conjunct guards a gain, it is read after the change, and its derived relations under an odd
number of negations read as ⊥. A guard of a loss has none: gains matter under an odd number of negations alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltic_theory.boolean import Change
from deltic_theory.fixpoints import least_fixpoint
from deltic_theory.formulas import syntax as s
from deltic_theory.formulas.derivative import RULES, Derivatives, Rule
from deltic_theory.formulas.programs import NO_FACTS, Facts, FormulaProgram, TableChanges, Tables, everything_removed

CORE: frozenset[type[s.Formula]] = frozenset(
    {s.Top, s.Bottom, s.Atom, s.And, s.Or, s.Not, s.Exists, s.Forall, s.Equal, s.Compare}
)


def over_deletion(program: FormulaProgram, tables: Tables, changes: TableChanges, facts: Facts) -> Change[Facts]:
    """Return the change that removes from `facts`, ⟦P⟧ on `tables`, all that the change of the tables may take away.

    For programs monotone in their derived relations. Where a body has constructs outside the core, all is removed.

    >>> from deltic_theory.formulas.programs import Predicate, rows_of, semantics
    >>> from deltic_theory.formulas.syntax import atom, exists
    >>> body = atom("e", "x", "y") | exists("z", atom("tc", "x", "z") & atom("e", "z", "y"))
    >>> closure = FormulaProgram({"tc": Predicate(("x", "y"), body)})
    >>> tables = {"e": frozenset({(1, 2), (2, 3), (3, 2)})}
    >>> lost = over_deletion(
    ...     closure, tables, {"e": Change(frozenset(), frozenset({(1, 2)}))}, semantics(closure, tables)
    ... )
    >>> sorted(rows_of(lost.down, "tc"))
    [(1, 2), (1, 3)]
    """
    if not all(_is_core(predicate.body) for predicate in program.predicates.values()):
        return everything_removed(facts)
    losses = program.bodies(Derivatives(loss_rules(frozenset(program.predicates))).down)

    def more(lost: Facts) -> Facts:
        model = program.model(tables, facts, changes, Change(NO_FACTS, lost))
        return lost | (program.facts(losses, model) & facts)

    return Change(NO_FACTS, least_fixpoint(more, NO_FACTS))


def loss_rules(derived: frozenset[str]) -> Mapping[type[s.Formula], Rule[Any]]:
    """Δ and ∇ from above: no check for other derivations, and guards that only grow with the derived relations."""

    def up_and(formula: s.And, d: Derivatives) -> s.Formula:
        t, u = formula.left, formula.right
        later = [d.next(without_negative(part, derived, negative=False)) for part in (t, u)]
        return (d.up(t) & later[1]) | (later[0] & d.up(u))

    either: Rule[Any] = Rule(
        lambda f, d: s.Exists(f.variable, d.up(f.body)), lambda f, d: s.Exists(f.variable, d.down(f.body))
    )
    return {
        **RULES,
        s.And: Rule(up_and, RULES[s.And].down),
        s.Or: Rule(RULES[s.Or].up, lambda f, d: d.down(f.left) | d.down(f.right)),
        s.Exists: either,
        s.Forall: either,
    }


def without_negative(formula: s.Formula, derived: frozenset[str], negative: bool) -> s.Formula:
    """Return the formula made larger: derived relations that occur under an odd number of negations read as ⊥."""
    if isinstance(formula, s.Atom):
        return s.BOTTOM if negative and formula.relation in derived else formula
    under = negative != isinstance(formula, s.Not)
    return s.rebuild(formula, lambda part: without_negative(part, derived, under))


def _is_core(formula: s.Formula) -> bool:
    return type(formula) in CORE and all(map(_is_core, s.parts(formula)))
