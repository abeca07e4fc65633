"""Runs an epoch by the plan that pays: by another program once relations outgrow the plan of the present one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from deltic.engine.changes import Changes
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.inline.program import LocalProgram
from deltic.engine.operators.query import VisitLimit
from deltic.engine.plan.plans import Plans
from deltic.engine.storage.arrow import Encoded
from deltic.engine.storage.store import StoreSnapshot

# An epoch that was restarted visits this many times the rows of its earlier tries before the next review.
_LATER = 16


@dataclass(frozen=True)
class PlannedEpoch:
    """An epoch that was run: the program that ran it, that program's state before, and the changes of the views."""

    program: LocalProgram
    before: StoreSnapshot
    changes: Changes


class _Revised(Exception):
    """The epoch must restart with these plans."""

    def __init__(self, plans: Plans) -> None:
        self.plans = plans


def run_by_plan(
    present: LocalProgram, batches: Mapping[str, Encoded], conflicts: Conflicts, is_pinned: bool
) -> PlannedEpoch:
    """Run an epoch by the present program, or by a program of another plan unless the plan `is_pinned`.

    The other program leaves the present one unchanged.
    """
    rows = {table: present.contents.held(table) + len(weights) for table, (_, weights) in batches.items()}
    if is_pinned or not present.plans.is_due(rows):
        return PlannedEpoch(present, *present.run(batches, conflicts))
    program, visited = _replanned(present, rows, batches), 0
    while True:
        result = _reviewed(program, program.plans.review + _LATER * visited, batches, conflicts)
        visited += program.visited
        if isinstance(result, PlannedEpoch):
            program.environment.visits.rows = visited
            return result
        program = _of_plans(present, result)


def _reviewed(
    program: LocalProgram, review: int, batches: Mapping[str, Encoded], conflicts: Conflicts
) -> PlannedEpoch | Plans:
    """Run the epoch. Return other plans if a review after `review` visited rows finds that a restart pays."""
    if program.plans.unknown:
        program.environment.alarm = VisitLimit(review, lambda: _review(program))
    try:
        return PlannedEpoch(program, *program.run(batches, conflicts))
    except _Revised as revised:
        return revised.plans
    finally:
        program.environment.alarm = VisitLimit()


def _review(program: LocalProgram) -> None:
    """Raise _Revised if the present sizes of recursive relations make it pay to restart with another plan.

    Reviews once in each try, because counting distinct values sorts the relations.
    """
    program.environment.alarm = VisitLimit()
    contents, visited = program.contents, program.visited
    plans = program.plans.revised(program.circuit, contents.recursive(), contents.relations(), visited)
    if plans is not None:
        raise _Revised(plans)


def _replanned(present: LocalProgram, rows: Mapping[str, int], batches: Mapping[str, Encoded]) -> LocalProgram:
    """Return the program to run the epoch that adds these rows: another one if a new plan pays."""
    held = {table: present.contents.held(table) for table in present.program.tables}
    present.store.fit()
    plans = present.plans
    known = {**held, **rows, **plans.of_recursions(present.contents.recursive())}
    new = plans.anew(present.circuit, known, present.contents.relations(batches))
    added, there = sum(rows[table] - held[table] for table in rows), sum(held.values())
    if new.circuit != plans.circuit and new.pays(plans, there, added):
        return _of_plans(present, new)
    present.plans = replace(plans, rows=new.rows, numbers=new.numbers, unknown=new.unknown)
    return present


def _of_plans(present: LocalProgram, plans: Plans) -> LocalProgram:
    """Return a program of another plan, with the views of the present one."""
    other, kept = present.evolved(present.circuit, plans)
    if any(len(state.contents) for state in present.states.values()):
        other.compute(other.without(kept), present)
    return other
