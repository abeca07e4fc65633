"""From the delta queries of a recursive stratum to its component: with the whole-rule queries of its strategy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from deltic.engine.local.evaluate import Evaluation
from deltic.engine.local.frugal import plan_frugally
from deltic.engine.local.planner import plan
from deltic.engine.local.recursion import Component
from deltic.engine.local.rederive import base_of, is_rule, search_of
from deltic.engine.local.relation import State
from deltic.engine.local.strategy import Strategy
from deltic.engine.local.thin import Thin, fits


def component_of(
    relations: Sequence[str], states: Mapping[str, State], evaluations: Sequence[Evaluation], strategy: Strategy
) -> Component:
    """The component of these relations, whose delta queries are `evaluations`."""
    inner: dict[str, list[Evaluation]] = defaultdict(list)
    outer: list[Evaluation] = []
    searches: dict[str, list[Evaluation]] = defaultdict(list)
    bases: list[Evaluation] = []
    for evaluation in evaluations:
        query = evaluation.query
        followed = query.delta.relation
        (inner[followed] if followed in relations else outer).append(evaluation)
        if not is_rule(query):
            continue
        base = base_of(query, relations)
        if base is not None:
            bases.append(Evaluation(plan(base), evaluation.domains, evaluation.environment))
        elif strategy is Strategy.ELASTIC:
            search, domains = search_of(query, evaluation.domains, states[query.head].domains)
            orders = {name: tuple(states[name].stores) for name in relations}
            found = plan_frugally(search, orders)
            searches[query.head].append(Evaluation(found, domains, evaluation.environment))
    own = {name: states[name] for name in relations}
    following = [e for found in inner.values() for e in found]
    searching = [e for found in searches.values() for e in found]
    thin = Thin(own, inner, searches) if following and fits([*following, *searching]) else None
    return Component(own, outer, inner, searches, bases, strategy, thin)
