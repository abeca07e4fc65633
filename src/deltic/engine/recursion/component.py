"""A recursive component: mutually recursive relations, the queries that derive them, and their other definitions.

`component_of` builds it from delta queries and from the whole-rule queries of its strategy.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.plan.grouping import plan_within_orders
from deltic.engine.plan.planner import plan
from deltic.engine.recursion.compiled_loop import CompiledLoop, RelationTables, SetTables
from deltic.engine.recursion.signed.applied import applied_of
from deltic.engine.recursion.signed.choosing import examinations_of
from deltic.engine.recursion.signed.compiled import history_tables
from deltic.engine.recursion.signed.examination import Examinations
from deltic.engine.recursion.signed.priority import admission_of
from deltic.engine.recursion.signed.relation_function import FunctionOutput, InnerFixpoint, RelationFunction
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.recursion.termination import Bounds, computing
from deltic.engine.storage.columns import Domain
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.state import State
from deltic.program.histories import Applied, Nested, delay_of
from deltic.program.program import Stratum
from deltic.program.queries import Atom, Query, Rule, Term, When
from deltic.values.types import ValueType

# Queries by relation.
_Evaluations = dict[str, list[Evaluation]]


@dataclass(frozen=True)
class RecursiveComponent:
    """Mutually recursive relations, in the order in which they depend on each other within one iteration.

    `outer` are the queries whose delta is a relation of a lower stratum, `inner` those whose delta is in the component;
    by the relation of the delta. `searches` find all derivations of given rows, by the relation of the rows. `bases`
    derive all rows of rules that read no relation of the component. `examined` are non-linear functions of groups, and
    `outputs` the relations that functions of whole relations compute. `compiled` runs small rounds in compiled code. A
    `signed` component has histories: they have all iterations, whatever the strategy.
    """

    states: Mapping[str, State]
    environment: Environment
    signed: bool
    strategy: Strategy
    outer: Sequence[Evaluation]
    inner: Mapping[str, Sequence[Evaluation]]
    searches: Mapping[str, Sequence[Evaluation]]
    bases: Sequence[Evaluation]
    examined: Examinations
    outputs: Mapping[str, FunctionOutput]
    compiled: CompiledLoop | None

    @property
    def maintained(self) -> str:
        """Return how it is maintained, for reports."""
        return "signed" if self.signed else self.strategy.value

    @cached_property
    def levels(self) -> Sequence[Sequence[str]]:
        """Return the relations that are settled together: all sets and bags, but each history on its own."""
        return [(name,) for name in self.states] if self.signed else [tuple(self.states)]

    @cached_property
    def closing(self) -> Mapping[str, State]:
        """Return the relations that close a cycle: their rows are present one iteration after they are derived."""
        return {name: state for name, state in self.states.items() if delay_of(state.relation.definition)}

    @cached_property
    def functions(self) -> list[RelationFunction]:
        """Return the functions of whole relations."""
        return list(dict.fromkeys(output.function for output in self.outputs.values()))

    @cached_property
    def inputs(self) -> Mapping[str, Sequence[RelationFunction]]:
        """Return, for each relation, the functions that read it."""
        result: dict[str, list[RelationFunction]] = defaultdict(list)
        for function in self.functions:
            for name in dict.fromkeys(source.relation.name for source in function.sources):
                result[name].append(function)
        return result

    @property
    def is_due(self) -> bool:
        """Return whether the result of some function on empty inputs was never computed."""
        return not all(function.is_begun for function in self.functions)

    @cached_property
    def bounds(self) -> Bounds:
        """Return the parameters of the termination test."""
        states, limits = self.states.values(), self.environment
        jumps = any(admission_of(state) is not None for state in states)
        has_bags = any(state.kind is RelationKind.RECURSIVE_BAG for state in states)
        made = computing((e.query for e in self._following), (state.relation.definition for state in states))
        given = tuple(self.states), tuple(self.closing), made, self.signed, jumps, has_bags
        return Bounds(*given, limits.iteration_limit, limits.recursion_timeout)

    @cached_property
    def _following(self) -> list[Evaluation]:
        """All queries whose delta is a relation of the component."""
        return [e for result in self.inner.values() for e in result]

    @cached_property
    def _searching(self) -> list[Evaluation]:
        """All queries that find the derivations of given rows."""
        return [e for result in self.searches.values() for e in result]

    def build(self, lower: Mapping[str, State]) -> None:
        """Build the arrangements that an update by the changes of `lower` probes."""
        changed = [e for e in self.outer if lower[e.query.delta.relation].delta is not None]
        compiled = self.compiled.evaluations if self.compiled is not None else ()
        for evaluation in (*changed, *self._following, *self._searching, *compiled):
            evaluation.build()
        self.examined.build()

    def build_for_bootstrap(self) -> None:
        """Build the arrangements that a bootstrap probes; of the component itself, also those of the first update."""
        compiled = self.compiled
        for evaluation in (*self._following, *(compiled.following if compiled is not None else ())):
            evaluation.build()
        for evaluation in (*self._searching, *(compiled.evaluations if compiled is not None else ())):
            evaluation.build(self.states)
        self.examined.build()


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
        if (base := _base_of(rule, own)) is not None:
            yield Evaluation(plan(base), of_rule.domains, of_rule.environment)


def _searches(own: Mapping[str, State], rules: Mapping[Rule, Evaluation]) -> _Evaluations:
    """Return the queries that find all derivations of lost rows by a recursive rule, by the relation of the rows.

    They search for one row at a time, with all variables of the lost row bound first, so intersections find few
    candidates. The filter of [ELA §4.2] would bind one variable of all lost rows at a time, in the order of the body.
    """
    result: _Evaluations = defaultdict(list)
    orders = {name: tuple(state.by_order) for name, state in own.items()}
    for rule, of_rule in rules.items():
        if _base_of(rule, own) is None:
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


def _base_of(rule: Rule, recursive: Container[str]) -> Query | None:
    """Return the query for all derivations of a rule from its first atom; None if it reads a recursive relation."""
    if any(atom.relation in recursive for atom in rule.body.atoms):
        return None
    first, *others = rule.body.atoms
    atoms = (replace(first, when=When.DELTA), *(replace(a, when=When.NEW) for a in others))
    absent = tuple(replace(a, when=When.NEW) for a in rule.body.absent)
    return Query(rule.head, rule.terms, replace(rule.body, atoms=atoms, absent=absent), rule)


def search_of(rule: Rule, variables: dict[int, Domain], head: tuple[Domain, ...]) -> tuple[Query, dict[int, Domain]]:
    """Return the query for all derivations of given head rows, by the rule as it was before the epoch.

    A computed column of the head becomes a condition on the given column.
    """
    body = rule.body
    domains = dict(variables)
    fresh = itertools.count(max(domains, default=0) + 1)
    terms: list[Term] = []
    equations = list(body.equations)
    types = dict(body.types)
    for term, domain in zip(rule.terms, head, strict=True):
        if isinstance(term, exp.Expression) and not is_literal(term):
            variable = next(fresh)
            domains[variable], types[variable] = domain, ValueType(domain.type, domain.nullable)
            equations.append((variable, term))
            terms.append(variable)
        else:
            terms.append(term)
    guard = Atom(rule.head, When.DELTA, tuple(terms))
    guarded = replace(body, atoms=(guard, *body.atoms), equations=tuple(equations), types=types)
    return Query(rule.head, tuple(terms), guarded, rule), domains
