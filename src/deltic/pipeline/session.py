"""The pipeline: what a user holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.circuit.types import Schema
from deltic.datalog import CheckedProgram, parse
from deltic.engine.protocol import Conflicts, Engine, EpochResult
from deltic.errors import DelticError
from deltic.pipeline.engines import EngineName, Maintenance, RefreshName, StrategyName, new_engine
from deltic.pipeline.names import check_choice, find
from deltic.pipeline.program import Compiled, compiled
from deltic.pipeline.spark import check_session
from deltic.pipeline.transaction import Batches, Transaction, with_weight
from deltic.pipeline.views import View

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Pipeline:
    """Tables, and views over them that stay fresh at the cost of the change.

    Without a Spark session everything runs in this process; with one, DataFrames come and go through it.
    `engine` is "local", "reference" (slow; for tests) or "auto", which is the local one. `conflicts` says what to do
    with an insertion of a present row or a deletion of an absent one: "error" rejects the transaction,
    "normalize" makes it a no-op, "trust" does not look.

    The rest is about recursive views. `strategy` says what is kept beside their rows: "nested" counts derivations at
    every iteration, which makes updates quick; "elastic" counts those of a row's first iteration alone, which takes
    less memory, and searches again for what deletions take away; "full" counts nothing and computes the views anew
    in every epoch. {"VIEW": "elastic"} chooses for single views, each with those that it is mutually recursive with;
    the others are "nested". `refresh` is "auto": an update that has taken longer than the fraction `switch` of the last
    bootstrap goes on only if earlier updates show that the whole of it will take less than a bootstrap; else it is
    abandoned, and the recursion computed anew; "incremental": never computed anew; "incremental strict": moreover a
    program with an operator that has no derivative is refused; or "full": always computed anew. A transaction with a
    recursion that computes values, as `n(x + 1) :- n(x).` does, and takes more than `iteration_limit` iterations is
    rejected with an IterationLimitError.

    A pipeline belongs to one thread.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        engine: EngineName = "auto",
        conflicts: Conflicts = "error",
        strategy: StrategyName | Mapping[str, StrategyName] = "nested",
        refresh: RefreshName = "auto",
        switch: float = 0.2,
        iteration_limit: int = ITERATION_LIMIT,
    ) -> None:
        check_choice(engine, "engine", get_args(EngineName))
        check_choice(conflicts, "policy for conflicts", get_args(Conflicts))
        check_session(spark)
        self.spark = spark
        self.conflicts: Conflicts = conflicts
        self._engine_name: EngineName = engine
        self._compiled = compiled([])
        self._maintenance = Maintenance(strategy, refresh, switch, iteration_limit)
        self._engine: Engine = new_engine(engine, self._compiled.circuit, self._maintenance)
        self._has_begun = False
        self._transaction: Transaction | None = None

    def datalog(self, text: str, file: str = "<datalog>") -> None:
        """Add a Datalog program: its declarations, rules and facts join those that are there.

        `file` is what messages call the text. Raises ProgramError with all findings, and the pipeline stays as it
        was. When tables hold rows already, everything is computed anew from them, in one epoch: add programs
        before data where you can.
        """
        self._refuse_inside_transaction("a program is added before or after it")
        program = compiled([*self._compiled.programs, parse(text, file)])
        engine = new_engine(self._engine_name, program.circuit, self._maintenance)
        if self._has_begun:
            self._maintenance.check(program)
            engine.apply(self._contents(program), "trust")
        self._compiled, self._engine = program, engine

    def transaction(self, conflicts: Conflicts | None = None) -> Transaction:
        """A transaction, for a with-block: all changes made in it are one epoch, or none takes effect.

        `conflicts` overrides that of the pipeline.
        """
        self._refuse_inside_transaction("transactions do not nest")
        if not self._has_begun:
            self._maintenance.check(self._compiled)
        chosen = conflicts or self.conflicts
        check_choice(chosen, "policy for conflicts", get_args(Conflicts))

        def commit(batches: Batches) -> EpochResult:
            result = self._engine.apply(batches, chosen)
            self._has_begun = True
            return result

        self._transaction = Transaction(self.tables, self.views, commit, self._close, self.spark)
        return self._transaction

    def __getitem__(self, name: str) -> View:
        """A view or table by name; raises DelticError with the nearest name when there is none."""
        schema = find(name, "view or table", self._compiled.relations)
        return View(name, schema, self._current_engine, self.spark)

    def explain(self, name: str) -> str:
        """How a view is computed and kept: its circuit, incremental, and what the engine makes of it."""
        find(name, "view", self.views, dict.fromkeys(self.tables, "it is a table"))
        return self._engine.explain(name)

    def circuit(self, name: str | None = None) -> Circuit:
        """The circuit of one view, or of all views together."""
        if name is None:
            return self._compiled.circuit
        find(name, "view", self.views, dict.fromkeys(self.tables, "it is a table"))
        return self._compiled.circuit.part(name)

    @property
    def checked(self) -> CheckedProgram:
        """The programs, checked together: relations, rules and directives."""
        return self._compiled.checked

    @property
    def tables(self) -> dict[str, Schema]:
        """The tables and their columns."""
        return self._compiled.tables

    @property
    def views(self) -> dict[str, Schema]:
        """The views and their columns."""
        return self._compiled.views

    def _current_engine(self) -> Engine:
        """The engine, to be read from; what facts alone give is derived before the first transaction."""
        if not self._has_begun:
            self._maintenance.check(self._compiled)
            self._engine.apply({})
            self._has_begun = True
        return self._engine

    def _contents(self, program: Compiled) -> Batches:
        """The rows of the tables, as insertions into those of a program that has grown."""
        contents = {name: self._engine.read(name, table=True) for name in self.tables}
        lost = [name for name, rows in contents.items() if len(rows) and name not in program.tables]
        if lost:
            name = lost[0]
            raise DelticError(
                f"{name} is a table and holds rows; the program's rules would make it a view without them. "
                f"Add `.input {name}` to the program, so that it is both"
            )
        return {name: with_weight(rows, 1) for name, rows in contents.items() if len(rows)}

    def _close(self) -> None:
        self._transaction = None

    def _refuse_inside_transaction(self, remedy: str) -> None:
        if self._transaction is not None and self._transaction.is_open:
            raise DelticError(f"a transaction is open: {remedy}")
