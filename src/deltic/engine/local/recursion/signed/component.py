"""The relations of a recursion that is not monotone, with the queries and the examinations that derive them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.plan.planner import plan
from deltic.engine.local.recursion.fixpoint import Check
from deltic.engine.local.recursion.signed.admission import admission_of
from deltic.engine.local.recursion.signed.applied import applied_of
from deltic.engine.local.recursion.signed.by_iteration import ByIteration
from deltic.engine.local.recursion.signed.choosing import examination_of
from deltic.engine.local.recursion.signed.compiled import HistoryLoop, history_loop
from deltic.engine.local.recursion.signed.epoch import begin_epoch, follow_epoch
from deltic.engine.local.recursion.signed.examination import Examination
from deltic.engine.local.recursion.signed.nested import Inner
from deltic.engine.local.recursion.signed.whole import Look, Whole
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.recursion.whole_rules import base_of
from deltic.engine.local.storage.state import State
from deltic.program.histories import Admission, Applied, Examined, Historical, Nested
from deltic.program.operators.flat_map import Expanded


@dataclass(frozen=True)
class Signed:
    """Mutually recursive relations with histories, in the order in which they follow each other at one iteration.

    `outer` are the queries that follow relations of lower strata, `inner` those of the component, by the relation
    followed; `bases` are those of rules without relations of the component, from all rows. `examined` are the relations
    that look at groups of another, by that one, and `looks` those that come of functions of whole relations. `compiled`
    follows small changes in compiled code. Whatever the strategy, histories have all iterations: there is no elastic
    one.
    """

    states: Mapping[str, State]
    outer: Sequence[Evaluation]
    inner: Mapping[str, Sequence[Evaluation]]
    bases: Sequence[Evaluation]
    examined: Mapping[str, Examination]
    looks: Mapping[str, Look]
    strategy: Strategy
    compiled: HistoryLoop | None

    @property
    def maintained(self) -> str:
        """How it is kept, for reports."""
        return "signed"

    @cached_property
    def delays(self) -> Mapping[str, int]:
        """How many iterations after it is derived a row of each relation is there."""
        return delays_of(self.states)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each relation in its iteration."""
        return {name: place for place, name in enumerate(self.states)}

    @cached_property
    def admissions(self) -> Mapping[str, Admission]:
        """The relations whose rows are admitted by a value, and in what order."""
        found = {name: admission_of(state) for name, state in self.states.items()}
        return {name: admission for name, admission in found.items() if admission is not None}

    @cached_property
    def by_iteration(self) -> Mapping[str, ByIteration]:
        """The relations whose rows are kept by iteration, too."""
        return {index.state.relation.name: index for found in self.examined.values() for index in found.by_iteration}

    @cached_property
    def computing(self) -> list[str]:
        """The rules that make new values from recursive rows."""
        found = [e.query.rule.spoken() for of_one in self.inner.values() for e in of_one if e.query.computes]
        made = (each.definition.function for each in self.examined.values())
        found += [function.operator.arguments().strip("[]") for function in made if isinstance(function, Expanded)]
        return list(dict.fromkeys(found))

    @cached_property
    def functions(self) -> list[Whole]:
        """The functions of whole relations."""
        return list(dict.fromkeys(look.function for look in self.looks.values()))

    @cached_property
    def entering(self) -> Mapping[str, Sequence[Whole]]:
        """The functions that each relation enters."""
        found: dict[str, list[Whole]] = defaultdict(list)
        for function in self.functions:
            for name in dict.fromkeys(source.relation.name for source in function.sources):
                found[name].append(function)
        return found

    @property
    def is_due(self) -> bool:
        """Whether what functions make of nothing is not yet there."""
        return not all(function.is_begun for function in self.functions)

    @property
    def environment(self) -> Environment:
        """What all of its queries share."""
        return next(e.environment for found in (self.outer, *self.inner.values()) for e in found)

    def build(self, lower: Mapping[str, State]) -> None:
        """Build what an update by the changes of `lower` probes."""
        for evaluation in self.outer:
            if lower[evaluation.query.delta.relation].delta is not None:
                evaluation.build()
        self._build_inner()

    def _build_inner(self) -> None:
        for evaluation in (e for found in self.inner.values() for e in found):
            evaluation.build()
        for evaluation in self.compiled.evaluations if self.compiled is not None else ():
            evaluation.build()
        for examination in self.examined.values():
            examination.build()

    def update(self, lower: Mapping[str, State], check: Check) -> None:
        """Bring the histories, built for it, up to date with the changes of `lower`; sets the relations' `delta`."""
        follow_epoch(self, lower, check)

    def bootstrap(self, lower: Mapping[str, State], check: Check) -> None:
        """Compute the histories from nothing; sets the `delta` of the relations."""
        self._build_inner()
        begin_epoch(self, lower, check)


def signed_component(
    relations: Sequence[str], states: Mapping[str, State], evaluations: Sequence[Evaluation], strategy: Strategy
) -> Signed:
    """The component of these relations, whose delta queries are `evaluations`."""
    inner: dict[str, list[Evaluation]] = defaultdict(list)
    outer: list[Evaluation] = []
    for evaluation in evaluations:
        followed = evaluation.query.delta.relation
        (inner[followed] if followed in relations else outer).append(evaluation)
    rules = {evaluation.query.rule: evaluation for evaluation in evaluations}
    bases = [
        Evaluation(plan(base), of_rule.domains, of_rule.environment)
        for rule, of_rule in rules.items()
        if (base := base_of(rule, relations)) is not None
    ]
    own = {name: states[name] for name in relations}
    looks = looks_of(own, evaluations[0].environment)
    examined: dict[str, Examination] = {}
    for name in relations:
        definition = states[name].relation.definition
        if isinstance(definition, Examined):
            environment = evaluations[0].environment
            examined[definition.source] = examination_of(
                definition, states[definition.source], states[name], environment
            )
    asking = partial(plan, asks=True)
    following = {name: [e.in_one_search(asking) for e in found] for name, found in inner.items()}
    compiled = None if looks else history_loop(own, following, examined, delays_of(own))
    return Signed(own, outer, inner, bases, examined, looks, strategy, compiled)


def delays_of(states: Mapping[str, State]) -> Mapping[str, int]:
    """How many iterations after it is derived a row of each relation is there."""
    found = {}
    for name, state in states.items():
        assert isinstance(state.relation.definition, Historical)
        found[name] = state.relation.definition.delay
    return found


def looks_of(states: Mapping[str, State], environment: Environment) -> dict[str, Look]:
    """The relations of a component that come of functions of whole relations; those of one fixpoint share it."""
    inner: dict[object, Inner] = {}
    found = {}
    for name, target in states.items():
        definition = target.relation.definition
        if isinstance(definition, Nested):
            key = definition.fixpoint, definition.inputs
            if key not in inner:
                inner[key] = Inner(definition, [states[source] for source in definition.inputs], environment)
            found[name] = Look(definition.component, target, inner[key])
        elif isinstance(definition, Applied):
            sources = [states[source] for source in definition.inputs]
            found[name] = Look(name, target, applied_of(definition, sources, target, environment))
    return found
