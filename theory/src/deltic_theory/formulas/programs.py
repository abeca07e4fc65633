"""Recursive programs: immediate consequence, semantics, incremental evaluation and maintenance [FIX §7].

The derived relations of a program are kept together as one set of facts, (relation, row). Sets of facts are Rel^n: a
generalized Boolean algebra with the change action L⋈, over which a program is a function to take the fixpoint of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from deltic_theory.boolean import BooleanAction, Change
from deltic_theory.derivative import Differentiable
from deltic_theory.fixpoints import fixpoint_change, incremental_fixpoint, least_fixpoint, recur
from deltic_theory.formulas.derivative import FIGURE_2, Derivatives
from deltic_theory.formulas.meaning import Columns
from deltic_theory.formulas.range_restricted import evaluate
from deltic_theory.formulas.relations import Model, Row, Rows
from deltic_theory.formulas.simplify import simplify
from deltic_theory.formulas.syntax import Formula
from deltic_theory.functional import evaluation_by_new
from deltic_theory.lattices import FiniteSets

Facts = frozenset[tuple[str, Row]]
Tables = Mapping[str, Rows]
TableChanges = Mapping[str, Change[Rows]]
Evaluator = Callable[[Formula, Columns, Model], Rows]

NO_FACTS: Facts = frozenset()

FACT_CHANGES: BooleanAction[Facts] = BooleanAction(FiniteSets())
"""The change action of sets of facts: facts to add and facts to remove."""


@dataclass(frozen=True)
class Predicate:
    """A derived relation: its columns, and the formula over them that defines it."""

    columns: Columns
    body: Formula


@dataclass(frozen=True)
class FormulaProgram:
    """Predicates by name, which may mention each other, themselves and tables.

    Formulas are evaluated by `evaluator`: without a universe by default, or by `denote` over the given universe.

    >>> from deltic_theory.formulas.syntax import atom, exists
    >>> body = atom("e", "x", "y") | exists("z", atom("e", "x", "z") & atom("tc", "z", "y"))
    >>> closure = FormulaProgram({"tc": Predicate(("x", "y"), body)})
    >>> sorted(rows_of(semantics(closure, {"e": frozenset({(1, 2), (2, 3)})}), "tc"))
    [(1, 2), (1, 3), (2, 3)]
    """

    predicates: Mapping[str, Predicate]
    universe: tuple[int, ...] | None = None
    evaluator: Evaluator = evaluate
    derivatives: Derivatives = FIGURE_2

    def model(
        self,
        tables: Tables,
        facts: Facts,
        table_changes: TableChanges | None = None,
        change: Change[Facts] | None = None,
    ) -> Model:
        """Return the model of tables and facts, with changes of either."""
        changes = dict(table_changes or {})
        if change is not None:
            changes |= {p: Change(rows_of(change.up, p), rows_of(change.down, p)) for p in self.predicates}
        return Model({**tables, **{p: rows_of(facts, p) for p in self.predicates}}, changes, self.universe)

    def facts(self, formulas: Mapping[str, Formula], model: Model) -> Facts:
        """Return the facts that a formula for each predicate yields in a model."""
        return frozenset(
            (name, row)
            for name, formula in formulas.items()
            for row in self.evaluator(formula, self.predicates[name].columns, model)
        )

    def bodies(self, transform: Callable[[Formula], Formula] = simplify) -> dict[str, Formula]:
        """Return the transformed and simplified body of each predicate."""
        return {name: simplify(transform(predicate.body)) for name, predicate in self.predicates.items()}


def rows_of(facts: Facts, relation: str) -> Rows:
    """Return the rows of one relation among facts."""
    return frozenset(row for name, row in facts if name == relation)


def consequence(program: FormulaProgram, tables: Tables) -> Callable[[Facts], Facts]:
    """Return the immediate consequence operator: one application of every predicate's body [FIX Def. 44]."""
    bodies = program.bodies()
    return lambda facts: program.facts(bodies, program.model(tables, facts))


def semantics(program: FormulaProgram, tables: Tables) -> Facts:
    """⟦P⟧: the least fixpoint of the immediate consequence operator, by naive iteration [FIX Def. 45]."""
    return least_fixpoint(consequence(program, tables), NO_FACTS)


def differentiable_consequence(
    program: FormulaProgram, tables: Tables
) -> Differentiable[Facts, Change[Facts], Facts, Change[Facts]]:
    """Return the immediate consequence operator with its symbolic derivative, the tables staying as they are [FIX
    §7.2].
    """
    derivatives = program.derivatives.without_changes_of(*tables.keys() - program.predicates.keys())
    ups, downs = program.bodies(derivatives.up), program.bodies(derivatives.down)

    def derivative(facts: Facts, change: Change[Facts]) -> Change[Facts]:
        model = program.model(tables, facts, change=change)
        return FACT_CHANGES.change(program.facts(ups, model), program.facts(downs, model))

    return Differentiable(consequence(program, tables), derivative)


def consequence_change(
    program: FormulaProgram, tables: Tables, changes: TableChanges
) -> Callable[[Facts], Change[Facts]]:
    """δf: how the immediate consequences of the same facts change when the tables do, symbolically."""
    derivatives = program.derivatives.without_changes_of(*program.predicates)
    ups, downs = program.bodies(derivatives.up), program.bodies(derivatives.down)

    def change_of(facts: Facts) -> Change[Facts]:
        model = program.model(tables, facts, changes)
        return FACT_CHANGES.change(program.facts(ups, model), program.facts(downs, model))

    return change_of


def accumulation(program: FormulaProgram, tables: Tables) -> Iterator[tuple[Facts, Change[Facts]]]:
    """Return the steps of incremental evaluation: the facts so far and their next change, without end."""
    return recur(differentiable_consequence(program, tables), FACT_CHANGES, NO_FACTS)


def semantics_incrementally(program: FormulaProgram, tables: Tables) -> Facts:
    """⟦P⟧ by accumulating derivatives: semi-naive evaluation for all formulas [FIX Thm 39, Cor. 46]."""
    return incremental_fixpoint(differentiable_consequence(program, tables), FACT_CHANGES, NO_FACTS)


def changed_tables(tables: Tables, changes: TableChanges) -> dict[str, Rows]:
    """Return the tables after their changes."""
    unchanged = FACT_CHANGES.empty
    return {
        name: Model({name: rows}, {name: changes.get(name, unchanged)}).changed().rows(name)
        for name, rows in tables.items()
    }


def maintain(
    program: FormulaProgram, tables: Tables, changes: TableChanges, facts: Facts, start: Change[Facts]
) -> Change[Facts]:
    """Return the change from ⟦P⟧ on `tables`, given as `facts`, to ⟦P⟧ on the changed tables [FIX Thm 43, Cor. 47].

    Exact for a program that is monotone in its derived relations when `facts` changed by `start` are below the new
    semantics. `everything_removed` and `over_deletion` are such starts for every update, the empty change for updates
    that only add consequences; from another start the result is some fixpoint, not always the least.
    """
    new = differentiable_consequence(program, changed_tables(tables, changes))
    return fixpoint_change(
        consequence(program, tables),
        consequence_change(program, tables, changes),
        facts,
        evaluation_by_new(new.derivative, FACT_CHANGES),
        FACT_CHANGES,
        start,
    )


def everything_removed(facts: Facts) -> Change[Facts]:
    """Return the start that recomputes: below it there is no other, as far as `facts` go."""
    return Change(NO_FACTS, facts)
