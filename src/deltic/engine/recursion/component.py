"""A recursive component: mutually recursive relations, the queries that derive them, and what else computes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.recursion.compiled_loop import CompiledLoop
from deltic.engine.recursion.signed.examination import Examinations
from deltic.engine.recursion.signed.priority import admission_of
from deltic.engine.recursion.signed.relation_function import FunctionOutput, RelationFunction
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.recursion.termination import Bounds
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.state import State
from deltic.program.histories import delay_of
from deltic.program.operators.flat_map import Expanded


@dataclass(frozen=True)
class RecursiveComponent:
    """Mutually recursive relations, in the order in which they follow each other at one iteration.

    `outer` are the queries that follow relations of lower strata, `inner` those of the component; both by the relation
    followed. `searches` find the derivations of given rows, by the relation of the rows; `bases` are those of rules
    without relations of the component, from all rows of one of theirs. `examined` look at groups of a history, and
    `outputs` are the relations that functions of whole relations compute. `compiled` takes small rounds in compiled
    code. A `signed` component has histories: whatever the strategy, these have all iterations.
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
        """How it is kept, for reports."""
        return "signed" if self.signed else self.strategy.value

    @cached_property
    def levels(self) -> Sequence[Sequence[str]]:
        """The relations that are settled together: sets and bags all, histories one after the other."""
        return [(name,) for name in self.states] if self.signed else [tuple(self.states)]

    @cached_property
    def closing(self) -> Mapping[str, State]:
        """The relations that close a cycle: their rows are there an iteration after they are derived."""
        return {name: state for name, state in self.states.items() if delay_of(state.relation.definition)}

    @cached_property
    def functions(self) -> list[RelationFunction]:
        """The functions of whole relations."""
        return list(dict.fromkeys(output.function for output in self.outputs.values()))

    @cached_property
    def inputs(self) -> Mapping[str, Sequence[RelationFunction]]:
        """The functions of which each relation is an input."""
        result: dict[str, list[RelationFunction]] = defaultdict(list)
        for function in self.functions:
            for name in dict.fromkeys(source.relation.name for source in function.sources):
                result[name].append(function)
        return result

    @property
    def is_due(self) -> bool:
        """Whether what functions make of nothing is not yet there."""
        return not all(function.is_begun for function in self.functions)

    @cached_property
    def bounds(self) -> Bounds:
        """The test whether it terminates."""
        states, limits = self.states.values(), self.environment
        jumps = any(admission_of(state) is not None for state in states)
        has_bags = any(state.kind is RelationKind.RECURSIVE_BAG for state in states)
        given = tuple(self.states), tuple(self.closing), self.computing, self.signed, jumps, has_bags
        return Bounds(*given, limits.iteration_limit, limits.recursion_timeout)

    @property
    def computing(self) -> list[str]:
        """The rules that make new values from recursive rows; without one, every recursion of sets has an end."""
        result = [e.query.rule.spoken() for e in self._following if e.query.computes]
        made = (each.definition.function for each in self.examined.by_source.values())
        result += [function.operator.arguments().strip("[]") for function in made if isinstance(function, Expanded)]
        return list(dict.fromkeys(result))

    @cached_property
    def _following(self) -> list[Evaluation]:
        """All queries that follow relations of the component."""
        return [e for result in self.inner.values() for e in result]

    @cached_property
    def _searching(self) -> list[Evaluation]:
        """All queries that find the derivations of given rows."""
        return [e for result in self.searches.values() for e in result]

    def build(self, lower: Mapping[str, State]) -> None:
        """Build what an update by the changes of `lower` probes."""
        changed = [e for e in self.outer if lower[e.query.delta.relation].delta is not None]
        compiled = self.compiled.evaluations if self.compiled is not None else ()
        for evaluation in (*changed, *self._following, *self._searching, *compiled):
            evaluation.build()
        self.examined.build()

    def build_for_bootstrap(self) -> None:
        """Build what a bootstrap probes, and of the component itself also what the first update will."""
        compiled = self.compiled
        for evaluation in (*self._following, *(compiled.following if compiled is not None else ())):
            evaluation.build()
        for evaluation in (*self._searching, *(compiled.evaluations if compiled is not None else ())):
            evaluation.build(self.states)
        self.examined.build()
