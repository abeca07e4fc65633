"""The engine: runs the epochs of an incremental circuit, each prepared and then committed or aborted.

What must hold:

* At most one epoch is prepared and neither committed nor aborted; a second `prepare` is refused.
* `version`, `epoch` and `token` are those of the last commit. An epoch that is prepared, aborted or failed may move
  rows, but changes none of them.
* A version never changes: readers use it without a lock while epochs go on.
* One thread at a time works on the state, inside `section`, which also delays interrupts.
* Neither commit nor abort may fail: an error there is a BrokenError, after which the engine must not be used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.executors.executor import Executed, MakeExecutor
from deltic.engine.executors.inline.executor import InlineExecutor
from deltic.engine.image import Image, Saved
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.moving import move
from deltic.engine.options import EngineOptions
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import NOTHING, Engine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import AUTO, Refresh
from deltic.engine.result import Extension
from deltic.engine.table_tasks import TableTasks
from deltic.program.program import Program


class IncrementalEngine(Engine):
    """Runs a circuit by an executor; see `Engine` for the protocol, `EngineOptions` for the options.

    `strategy`, `refresh` and `options` are those of EngineOptions. Raises UnsupportedError if the circuit has no
    derivative, or the executor cannot run it.
    """

    def __init__(
        self,
        circuit: Circuit,
        strategy: Strategy = Strategy.NESTED,
        refresh: Refresh = AUTO,
        executor: MakeExecutor = InlineExecutor.empty,
        **options: Any,
    ) -> None:
        self.section = CriticalSection()
        """The lock that lets one thread at a time work on the state, and delays interrupts."""
        self.options = EngineOptions(strategy=strategy, refresh=refresh, **options)
        self.token = ""
        self._prepared: Prepared | None = None
        self.extension: Extension | None = None
        """The result of the last change of definitions."""
        self.executor = executor(circuit, self.options, self)
        """Stores the rows of the last epoch, and runs the next one."""
        self._follow()

    def _follow(self) -> None:
        """Take over the version and epoch of the executor."""
        self.version = self.executor.version
        self.epoch = self.version.epoch

    @property
    def circuit(self) -> Circuit:
        """The circuit that is maintained."""
        return self.executor.circuit

    @property
    def program(self) -> Program:
        """The program of the circuit, as planned."""
        return self.executor.program

    @property
    def prepared(self) -> Prepared | None:
        """The epoch that is neither committed nor aborted."""
        return self._prepared

    def inner(self, circuit: Circuit) -> Engine:
        """Return an engine for a recursion inside a recursion."""
        return IncrementalEngine(circuit, iteration_limit=self.options.iteration_limit)

    # Epochs

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        return prepared_by(lambda made: self._prepare(made, token, lambda: self.executor.run(changes, conflicts)))

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> Prepared:
        return prepared_by(lambda made: self._prepare(made, self.token, lambda: self.executor.extend(circuit, rows)))

    @exclusive
    def _prepare(self, prepared: list[Prepared], token: str, execute: Callable[[], Executed]) -> None:
        """Run an epoch by `execute`, and add it to `prepared`."""
        started = time.perf_counter()
        refuse_second(self._prepared)
        try:
            executed = execute()
        finally:
            self._follow()  # the executor may have moved the rows before the epoch
        result = executed.result
        result.seconds = time.perf_counter() - started

        def commit() -> None:
            with self.section:
                executed.commit()
                self.token, self._prepared = token, None
                self.extension = result.extension or self.extension
                self._follow()

        def abort() -> None:
            with self.section:
                self._prepared = None
                executed.abort()

        self._prepared = Prepared(executed.version, token, result, commit, abort)
        prepared.append(self._prepared)

    # What is written

    @exclusive
    def capture(self) -> Image:
        refuse_second(self._prepared)
        image, program = self.executor.image(), self.program
        own = {"epoch": self.epoch, "token": self.token, "tables": dict(program.tables), "views": dict(program.sinks)}
        return replace(image, about={**own, **image.about})

    @exclusive
    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        old, self.executor = self.executor, self.executor.restored(saved, tables_alone)
        self.token, self.extension = saved.about["token"], None
        self._follow()
        if old is not self.executor:
            old.discard()

    @exclusive
    def take_over(self, other: IncrementalEngine) -> None:
        """Take over the state of an engine with another executor; there are no rows before. Raises the errors of
        `move`.
        """
        move(other.executor, self.executor)
        self.token = other.token
        self._follow()

    def compact(self) -> bool:
        return self.executor.compact()

    def discard(self) -> None:
        """Release all files that no version reads. The engine is not used any more."""
        self.executor.discard()

    # Reading

    @property
    def tasks(self) -> TableTasks | None:
        return self.executor.tasks

    def checks_keys(self, table: str) -> bool:
        return self.executor.checks_keys(table)

    @exclusive
    def forgotten(self, view: str) -> tuple[str, ...]:
        return self.executor.forgotten(view)

    @exclusive
    def explain(self, name: str, full: bool = False) -> str:
        text = self.executor.explain(name, full)
        if self.extension is None:
            return text
        below = self.program.below(self.program.sinks[name])
        return f"{text}\n\nthe last change of definitions {self.extension.of(below)}"

    def views_by_relation(self) -> Mapping[str, tuple[str, ...]]:
        return self.program.views_by_relation

    @exclusive
    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        return self.executor.maintenance(name)

    @exclusive
    def sizes(self) -> list[Size]:
        return self.executor.sizes()

    @property
    def nbytes(self) -> int:
        """The size of the state, in memory or in files, in bytes."""
        return self.executor.nbytes

    @property
    def resident(self) -> int:
        """The size of the state in the memory of this process, in bytes."""
        return self.executor.resident
