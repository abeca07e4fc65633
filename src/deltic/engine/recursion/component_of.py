"""Builds the component of a recursive stratum from its delta queries and the whole-rule queries of its strategy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.plan.planner import plan
from deltic.engine.plan.within_orders import plan_within_orders
from deltic.engine.recursion.compiled_loop import CompiledLoop, RelationTables, SetTables
from deltic.engine.recursion.component import RecursiveComponent
from deltic.engine.recursion.signed.applied import applied_of
from deltic.engine.recursion.signed.choosing import examinations_of
from deltic.engine.recursion.signed.compiled import history_tables
from deltic.engine.recursion.signed.examination import Examinations
from deltic.engine.recursion.signed.nested import InnerFixpoint
from deltic.engine.recursion.signed.relation_function import FunctionOutput
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.recursion.whole_rules import base_of, search_of
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.state import State
from deltic.program.histories import Applied, Nested
from deltic.program.program import Stratum
from deltic.program.queries import Rule

# Queries by relation.
_Evaluations = dict[str, list[Evaluation]]


def component_of(
    stratum: Stratum,
    states: Mapping[str, State],
    evaluations: Sequence[Evaluation],
    strategy: Strategy,
    environment: Environment,
) -> RecursiveComponent:
    """Return the component of a recursive stratum; `evaluations` are the delta queries of its rules.

    There are none if all of its relations are functions of whole relations. Bags store all their counts, whatever the
    strategy.
    """
    own = {name: states[name] for name in stratum.relations}
    if any(state.kind is RelationKind.RECURSIVE_BAG for state in own.values()):
        strategy = Strategy.NESTED
    inner, outer = _by_followed(own, evaluations)
    rules = {evaluation.query.rule: evaluation for evaluation in evaluations}
    is_searched = strategy is Strategy.ELASTIC and not stratum.signed
    searches = _searches(own, rules) if is_searched else {}
    examined, outputs = examinations_of(own, environment), _outputs(own, environment)
    tables = None if outputs else _tables(own, stratum.signed, strategy, examined)
    return RecursiveComponent(
        own,
        environment,
        stratum.signed,
        strategy,
        outer,
        inner,
        searches,
        list(_bases(own, rules)),
        examined,
        outputs,
        None if tables is None or not inner else _compiled(own, inner, searches, tables),
    )


def _by_followed(own: Mapping[str, State], evaluations: Sequence[Evaluation]) -> tuple[_Evaluations, list[Evaluation]]:
    """Split the queries into those whose delta is in the component, by relation, and the others."""
    inner: _Evaluations = defaultdict(list)
    outer: list[Evaluation] = []
    for evaluation in evaluations:
        followed = evaluation.query.delta.relation
        (inner[followed] if followed in own else outer).append(evaluation)
    return inner, outer


def _bases(own: Mapping[str, State], rules: Mapping[Rule, Evaluation]) -> Iterator[Evaluation]:
    """Yield the queries for all derivations of the rules that read no relation of the component."""
    for rule, of_rule in rules.items():
        if (base := base_of(rule, own)) is not None:
            yield Evaluation(plan(base), of_rule.domains, of_rule.environment)


def _searches(own: Mapping[str, State], rules: Mapping[Rule, Evaluation]) -> _Evaluations:
    """Return the queries that find all derivations of lost rows by a recursive rule, by the relation of the rows.

    They search for one row at a time, with all variables of the lost row bound first, so intersections find few
    candidates. The filter of [ELA §4.2] would bind one variable of all lost rows at a time, in the order of the body.
    """
    result: _Evaluations = defaultdict(list)
    orders = {name: tuple(state.by_order) for name, state in own.items()}
    for rule, of_rule in rules.items():
        if base_of(rule, own) is None:
            search, domains = search_of(rule, of_rule.domains, own[rule.head].domains)
            planned = plan_within_orders(search, orders)
            result[rule.head].append(Evaluation(planned, domains, of_rule.environment))
    return result


def _tables(
    own: Mapping[str, State], signed: bool, strategy: Strategy, examined: Examinations
) -> RelationTables | None:
    """Return the compiled-code tables for relations of these kinds; None if compiled code does not support them."""
    if signed:
        return history_tables(own, examined)
    return SetTables(strategy) if all(state.kind is RelationKind.RECURSIVE for state in own.values()) else None


def _compiled(
    own: Mapping[str, State], inner: _Evaluations, searches: _Evaluations, tables: RelationTables
) -> CompiledLoop:
    orders = {name: tuple(state.by_order) for name, state in own.items()}
    asking, within = partial(plan, asks=True), partial(plan_within_orders, orders=orders, asks=True)
    following = {name: [e.in_one_search(asking) for e in result] for name, result in inner.items()}
    searching = {name: [e.in_one_search(within) for e in result] for name, result in searches.items()}
    return CompiledLoop(own, following, searching, tables)


def _outputs(states: Mapping[str, State], environment: Environment) -> dict[str, FunctionOutput]:
    """Return the relations that functions of whole relations compute. Relations of one fixpoint share it."""
    inner: dict[object, InnerFixpoint] = {}
    result = {}
    for name, target in states.items():
        definition = target.relation.definition
        if isinstance(definition, Nested):
            key = definition.fixpoint, definition.inputs
            if key not in inner:
                inner[key] = InnerFixpoint(definition, [states[source] for source in definition.inputs], environment)
            result[name] = FunctionOutput(definition.component, target, inner[key])
        elif isinstance(definition, Applied):
            sources = [states[source] for source in definition.inputs]
            result[name] = FunctionOutput(name, target, applied_of(definition, sources, target, environment))
    return result
