"""A recursive component: mutually recursive relations, the queries that derive them, and their other definitions."""

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
from deltic.program.operators.linear import Expanded


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
        given = tuple(self.states), tuple(self.closing), self.computing, self.signed, jumps, has_bags
        return Bounds(*given, limits.iteration_limit, limits.recursion_timeout)

    @property
    def computing(self) -> list[str]:
        """Return the rules that compute new values from recursive rows. Without one, every recursion of sets
        terminates.
        """
        result = [e.query.rule.spoken() for e in self._following if e.query.computes]
        made = (each.definition.function for each in self.examined.by_source.values())
        result += [function.operator.arguments().strip("[]") for function in made if isinstance(function, Expanded)]
        return list(dict.fromkeys(result))

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
