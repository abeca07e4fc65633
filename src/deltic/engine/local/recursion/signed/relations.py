"""The relations of a recursion that is not monotone, with the queries and the examinations that derive them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.recursion.signed.admission import admission_of
from deltic.engine.local.recursion.signed.by_iteration import ByIteration
from deltic.engine.local.recursion.signed.compiled import HistoryLoop
from deltic.engine.local.recursion.signed.examination import Examination
from deltic.engine.local.recursion.signed.whole import Look, Whole
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.state import State
from deltic.program.histories import Admission, Historical
from deltic.program.operators.flat_map import Expanded


@dataclass(frozen=True)
class SignedRelations:
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


def delays_of(states: Mapping[str, State]) -> Mapping[str, int]:
    """How many iterations after it is derived a row of each relation is there."""
    found = {}
    for name, state in states.items():
        assert isinstance(state.relation.definition, Historical)
        found[name] = state.relation.definition.delay
    return found
