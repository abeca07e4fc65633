"""From the delta queries of a recursive stratum to its component: with the whole-rule queries of its strategy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from deltic.engine.local.operators.query import Evaluation
from deltic.engine.local.plan.planner import plan
from deltic.engine.local.plan.within_orders import plan_within_orders
from deltic.engine.local.recursion.compiled_loop import CompiledLoop
from deltic.engine.local.recursion.fixpoint import Component
from deltic.engine.local.recursion.signed.component import Signed, signed_component
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.recursion.whole_rules import base_of, search_of
from deltic.engine.local.storage.kinds import Kind
from deltic.engine.local.storage.state import State
from deltic.program.program import Stratum


def component_of(
    stratum: Stratum, states: Mapping[str, State], evaluations: Sequence[Evaluation], strategy: Strategy
) -> Component | Signed:
    """The component of a recursive stratum, of whose rules the delta queries are `evaluations`."""
    make = signed_component if stratum.signed else _component
    return make(stratum.relations, states, evaluations, strategy)


def _component(
    relations: Sequence[str], states: Mapping[str, State], evaluations: Sequence[Evaluation], strategy: Strategy
) -> Component:
    """The component of a recursion that is monotone.

    Bags have all their counts, whatever the strategy, and no compiled loop.
    """
    if any(states[name].kind is Kind.RECURSIVE_BAG for name in relations):
        strategy = Strategy.NESTED
    inner: dict[str, list[Evaluation]] = defaultdict(list)
    outer: list[Evaluation] = []
    searches: dict[str, list[Evaluation]] = defaultdict(list)
    searching: dict[str, list[Evaluation]] = defaultdict(list)
    bases: list[Evaluation] = []
    for evaluation in evaluations:
        followed = evaluation.query.delta.relation
        (inner[followed] if followed in relations else outer).append(evaluation)
    for rule, of_rule in {evaluation.query.rule: evaluation for evaluation in evaluations}.items():
        base = base_of(rule, relations)
        if base is not None:
            bases.append(Evaluation(plan(base), of_rule.domains, of_rule.environment))
        elif strategy is Strategy.ELASTIC:
            # Row by row, all variables of a lost row bound first: then intersections find few candidates. The filter
            # of [ELA §4.2] would bind one variable of all lost rows after the other, in the order of the body.
            search, domains = search_of(rule, of_rule.domains, states[rule.head].domains)
            orders = {name: tuple(states[name].by_order) for name in relations}
            found = plan_within_orders(search, orders)
            evaluation = Evaluation(found, domains, of_rule.environment)
            searches[rule.head].append(evaluation)
            within = partial(plan_within_orders, orders=orders, asks=True)
            searching[rule.head].append(evaluation.in_one_search(within))
    own = {name: states[name] for name in relations}
    asking = partial(plan, asks=True)
    following = {name: [e.in_one_search(asking) for e in found] for name, found in inner.items()}
    is_set = all(state.kind is Kind.RECURSIVE for state in own.values())
    compiled = CompiledLoop(own, following, searching) if following and is_set else None
    return Component(own, outer, inner, searches, bases, strategy, compiled)
