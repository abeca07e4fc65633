"""Planning: rewrites of circuits that are chosen by the sizes of relations."""

from __future__ import annotations

from collections.abc import Collection

from deltic.calculus.passes import is_composed, optimize
from deltic.calculus.planning.aggregate_early import aggregate_early
from deltic.calculus.planning.decision import ALL, COSTS, KeptDecision, RewriteCosts, Rewrites
from deltic.calculus.planning.eliminate import eliminate
from deltic.calculus.planning.groups import forms_of, kept_names, units_of, with_forms
from deltic.calculus.planning.share import share
from deltic.calculus.planning.statistics import Statistics
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline


def planned(
    circuit: Circuit,
    statistics: Statistics,
    rewrites: Rewrites = ALL,
    costs: RewriteCosts = COSTS,
    present: Collection[KeptDecision] = (),
    old: tuple[Circuit, Circuit] | None = None,
) -> tuple[Circuit, tuple[KeptDecision, ...]]:
    """Return the circuit with the relations that a plan adds, with the same values of all sinks, and the decisions.

    Without decisions it is the circuit itself. Of the `present` decisions, those that eliminate variables are kept.
    Groups of definitions with nothing in common are planned apart. With an `old` circuit and its plan, `present` are
    that plan's decisions, and only the groups of new definitions are planned: the other views keep their plan.
    """
    if not is_composed(circuit):
        result, taken = _planned_whole(circuit, statistics, rewrites, costs, present)
        return result, tuple(taken)
    units, forms, kept, decisions = units_of(circuit), dict[str, Circuit](), set[str](), list[KeptDecision]()
    groups = units.groups()
    if old is not None and is_composed(old[0]):
        new = units.new(units_of(old[0]))
        groups = [units.around(new)]
        kept = {view for number in units.views.keys() - new for view in units.views[number]}
        forms = {view: form for view, form in forms_of(*old).items() if view in kept}
        names = kept_names(forms.values())
        decisions += [decision for decision in present if decision.relation in names]
    for group in groups:
        views = [view for number in group for view in units.views[number]]
        made, taken = _planned_whole(circuit.part(*views), statistics, rewrites, costs, present)
        known = {decision.text for decision in decisions}
        added = [decision for decision in taken if decision.text not in known]
        if not any(decision.rewrite == "share" for decision in added):
            views = [view for view in views if view not in kept]
        if taken:
            forms |= dict.fromkeys(views, made.part(*views))
            decisions += added
    return with_forms(circuit, forms), tuple(decisions)


def _planned_whole(
    circuit: Circuit, statistics: Statistics, rewrites: Rewrites, costs: RewriteCosts, present: Collection[KeptDecision]
) -> tuple[Circuit, list[KeptDecision]]:
    """As `planned`, for a circuit in one piece."""
    result, decisions = inline(optimize(circuit)), list[KeptDecision]()
    if rewrites.share:
        result, made = share(result, statistics, costs)
        decisions += made
    if rewrites.eliminate:
        result, made = aggregate_early(result, statistics, costs)
        decisions += made
        result, made = eliminate(result, statistics, costs, present)
        decisions += made
    return (result if decisions else circuit), decisions
