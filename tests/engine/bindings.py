"""Looks at everything that was made for layouts, whenever it is used after something has grown.

What a query or a compiled recursion goes by is compared with what would be made for it at this moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import pytest

from deltic.engine.kernels import arithmetic
from deltic.engine.kernels.component import (
    A,
    Q,
    V,
)
from deltic.engine.kernels.query import COLUMNS, SLOTS, view
from deltic.engine.operators.binding import Binding
from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.plan.bind import Tables
from deltic.engine.recursion.compiled_loop import CompiledLoop

# The columns of arrangements that say how their rows are packed.
_PACKED = [A.WIDTH, A.MOVES, A.MOVE_COUNT, A.TIME_WORD, A.TIME_SHIFT]


class Watch:
    """Compares what is used with what is fresh; `grown` counts how often that was another one than before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.grown = {"queries": 0, "loops": 0}
        self._seen: dict[object, tuple[object, object]] = {}
        run, enter = Evaluation.run, CompiledLoop.take_queue

        def checked_run(evaluation: Evaluation, *args: Any, **more: Any) -> Iterator[Any]:
            self._check_query(evaluation)
            return run(evaluation, *args, **more)

        def checked_enter(loop: CompiledLoop, *args: Any) -> None:
            enter(loop, *args)
            self._check_loop(loop)

        monkeypatch.setattr(Evaluation, "run", checked_run)
        monkeypatch.setattr(CompiledLoop, "take_queue", checked_enter)

    def _is_known(self, who: object, moment: object, present: object, what: str) -> bool:
        """Whether it was looked at since anything has grown."""
        before, made = self._seen.get(who, (None, None))
        self.grown[what] += made is not None and made is not present
        self._seen[who] = moment, present
        return before == moment

    def _check_query(self, evaluation: Evaluation) -> None:
        binding = evaluation.binding
        if not self._is_known(evaluation, moment_of(evaluation.environment), binding, "queries"):
            assert is_fresh(evaluation, binding), f"stale: {evaluation.query}"

    def _check_loop(self, loop: CompiledLoop) -> None:
        if not self._is_known(loop, moment_of(loop.environment), loop.relations, "loops"):
            anew = copy(loop)
            anew._build()
            for mine, theirs in zip(of_loop(loop), of_loop(anew), strict=True):
                assert np.array_equal(mine, theirs), f"stale: the recursion of {loop.names}"
            for evaluation, binding, row in zip(loop.evaluations, loop._bindings, loop.queries, strict=True):
                assert is_fresh(evaluation, binding), f"stale in a recursion: {evaluation.query}"
                assert row[Q.PACKED] == binding.tables.query.ctypes.data


def moment_of(environment: Environment) -> object:
    """What can grow: all layouts, and all domains."""
    arrangements = [a for state in environment.states.values() for a in state.arrangements()]
    domains = [d for arrangement in arrangements for d in arrangement.domains]
    return [a.layout for a in arrangements], [(d.growth, d.numbering) for d in domains]


def fresh(evaluation: Evaluation) -> Binding:
    """The binding that a query like this one would have now."""
    return Evaluation(evaluation.plan, evaluation.domains, evaluation.environment).binding


def is_fresh(evaluation: Evaluation, binding: Binding) -> bool:
    """Whether a binding says what a fresh one does, wherever the memory of the two is."""
    anew = fresh(evaluation)
    pairs = zip(binding.segments, anew.segments, strict=True)
    return all(
        (mine.output, mine.computed) == (theirs.output, theirs.computed) and _are_same(mine.tables, theirs.tables)
        for mine, theirs in pairs
    )


def _are_same(mine: Tables, theirs: Tables) -> bool:
    return _told(mine) == _told(theirs) and bool((_given(mine, theirs) == _given(theirs, theirs)).all())


def _told(tables: Tables) -> tuple[object, ...]:
    """All but the slots; of what is computed without the values that had no place in a search."""
    named = dict(zip(COLUMNS, (view(tables.query, which) for which in range(len(COLUMNS))), strict=True))
    named["lets"] = named["lets"][:, : arithmetic.LEAST]
    questions = [
        (q.expression, q.is_condition, q.nullable, [(t, d, d.base, d.nullable) for t, d in q.arguments])
        for q in tables.questions
    ]
    rows = {name: table.tolist() for name, table in named.items()}
    return rows, list(tables.let_domains), tables.labelled, questions, tables.counts


def _given(tables: Tables, anew: Tables) -> Any:
    """What is in the slots that have a value before a search, but for addresses."""
    slots = view(anew.query, SLOTS)[0]
    addresses = [question.memo.header.ctypes.data for question in anew.questions]
    given = (slots != 0) & ~np.isin(slots, addresses)
    given[list(anew.labelled.values())] = False
    return view(tables.query, SLOTS)[0][given]


def of_loop(loop: CompiledLoop) -> list[Any]:
    """The tables of a compiled recursion that follow from layouts."""
    grouped = [table.copy() for table in loop.grouped]
    grouped[-1][:, V.LIMIT] = 0
    arranged = [list(map(id, loop.arrangements)), list(map(id, loop.own))]
    return [
        loop.relations,
        loop.table[:, _PACKED],
        loop.moves,
        loop.atoms,
        loop.queries[:, : Q.PACKED],
        *grouped,
        *arranged,
    ]
