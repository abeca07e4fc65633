"""Chooses the examination of each kind of definition, and describes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.engine.operators.kernel import KERNELS
from deltic.engine.operators.query import Environment
from deltic.engine.operators.totals import GroupTotals
from deltic.engine.recursion.signed.examination import EachRow, Examination, Examinations, GroupFunction, RowSets
from deltic.engine.recursion.signed.extremes import IN_ORDER
from deltic.engine.recursion.signed.running import RunningGroups, is_running
from deltic.engine.storage.state import State
from deltic.program.histories import Examined
from deltic.program.operators.aggregate import Grouped, GroupedAggregate
from deltic.program.operators.linear import Expanded

_TOTALS = "from its total before an iteration and what changes there"
_VALUES = "from what it was before an iteration and what changes there; where its value goes, a walk finds the next one"
_WHOLE = "the whole history of a group is read at each iteration that examines it"


def examinations_of(states: Mapping[str, State], environment: Environment) -> Examinations:
    """Return the examinations that compute relations of a recursion from others of it."""
    result = {}
    for state in states.values():
        definition = state.relation.definition
        if isinstance(definition, Examined):
            source = states[definition.source]
            result[definition.source] = _examination(definition, source, state, environment)
    return Examinations(result)


def _examination(definition: Examined, source: State, target: State, environment: Environment) -> Examination:
    """Return the examination that computes a relation from another."""
    function = definition.function
    if function is None:
        return RowSets(definition, source, target, environment)
    assert type(function) in KERNELS
    if isinstance(function, Expanded):
        return EachRow(definition, source, target, environment)
    if isinstance(function, Grouped):
        groups = GroupTotals(function, source, target, environment)
        if all(is_running(groups, call) for call in function.calls):
            return RunningGroups(definition, source, target, environment)
    return GroupFunction(definition, source, target, environment)


def choices(
    definition: Examined, states: Mapping[str, State], target: State, environment: Environment
) -> Iterator[str]:
    """Describe how each aggregate of an examined relation is computed. Other functions of groups read whole groups."""
    function = definition.function
    if not isinstance(function, Grouped):
        if function is not None and not isinstance(function, Expanded):
            yield _WHOLE
        return
    groups = GroupTotals(function, states[definition.source], target, environment)
    whole = [call for call in function.calls if not is_running(groups, call)]
    for name, call in zip(target.relation.schema.names[function.keys :], function.calls, strict=True):
        yield f"{name} = {ACCUMULATORS[call.function].called}: {_way(call, whole)}"


def _way(call: GroupedAggregate, whole: list[GroupedAggregate]) -> str:
    """Describe how an aggregate is computed beside others; those in `whole` need whole groups."""
    if whole:
        return _WHOLE if call in whole else f"as {ACCUMULATORS[whole[0].function].called}, which needs the group"
    return _VALUES if ACCUMULATORS[call.function].like in IN_ORDER else _TOTALS
