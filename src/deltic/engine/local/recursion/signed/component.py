"""A recursion that is not monotone as a component: it is built, updated and bootstrapped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.plan.planner import plan
from deltic.engine.local.recursion.fixpoint import Check
from deltic.engine.local.recursion.signed.applied import applied_of
from deltic.engine.local.recursion.signed.choosing import examination_of
from deltic.engine.local.recursion.signed.compiled import history_loop
from deltic.engine.local.recursion.signed.epoch import begin_epoch, follow_epoch
from deltic.engine.local.recursion.signed.examination import Examination
from deltic.engine.local.recursion.signed.nested import Inner
from deltic.engine.local.recursion.signed.relations import SignedRelations, delays_of
from deltic.engine.local.recursion.signed.whole import Look
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.recursion.whole_rules import base_of
from deltic.engine.local.storage.state import State
from deltic.program.histories import Applied, Examined, Nested


class Signed(SignedRelations):
    """Keeps the histories of its relations."""

    @property
    def maintained(self) -> str:
        """How it is kept, for reports."""
        return "signed"

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
