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
from deltic_theory.formulas.derivative import RULES, Derivatives, Rule
from deltic_theory.formulas.programs import (
    NO_FACTS,
    Facts,
    FormulaProgram,
    TableChanges,
    Tables,
    everything_removed,
)
from deltic_theory.formulas.syntax import (
    BOTTOM,
    And,
    Atom,
    Bottom,
    Compare,
    Equal,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Top,
    parts,
    rebuild,
)

CORE: frozenset[type[Formula]] = frozenset({Top, Bottom, Atom, And, Or, Not, Exists, Forall, Equal, Compare})


def over_deletion(program: FormulaProgram, tables: Tables, changes: TableChanges, facts: Facts) -> Change[Facts]:
    """The change that removes from `facts`, ⟦P⟧ on `tables`, all that the change of the tables may take away.

    For programs monotone in their derived relations. Where a body has constructs outside the core, all is removed.

    Examples
    --------
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


def loss_rules(derived: frozenset[str]) -> Mapping[type[Formula], Rule[Any]]:
    """Δ and ∇ from above: no check for other derivations, and guards that only grow with the derived relations."""

    def upper(formula: Formula) -> Formula:
        return without_negative(formula, derived, negative=False)

    def up_and(formula: And, d: Derivatives) -> Formula:
        t, u = formula.left, formula.right
        return (d.up(t) & d.next(upper(u))) | (d.next(upper(t)) & d.up(u))

    def either(formula: Or, d: Derivatives) -> Formula:
        return d.down(formula.left) | d.down(formula.right)

    def some_up(formula: Exists | Forall, d: Derivatives) -> Formula:
        return Exists(formula.variable, d.up(formula.body))

    def some_down(formula: Exists | Forall, d: Derivatives) -> Formula:
        return Exists(formula.variable, d.down(formula.body))

    return {
        **RULES,
        And: Rule(up_and, RULES[And].down),
        Or: Rule(RULES[Or].up, either),
        Exists: Rule(some_up, some_down),
        Forall: Rule(some_up, some_down),
    }


def without_negative(formula: Formula, derived: frozenset[str], negative: bool) -> Formula:
    """The formula made larger: derived relations that occur under an odd number of negations read as ⊥."""
    if isinstance(formula, Atom):
        return BOTTOM if negative and formula.relation in derived else formula
    under = negative != isinstance(formula, Not)
    return rebuild(formula, lambda part: without_negative(part, derived, under))


def _is_core(formula: Formula) -> bool:
    return type(formula) in CORE and all(map(_is_core, parts(formula)))
