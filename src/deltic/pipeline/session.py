"""The pipeline, which a user holds: how it is made, and what brings several of its doors together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from deltic.calculus.planning import ALL, Rewrites
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.conflicts import Conflicts
from deltic.engine.lateness import LatePolicy
from deltic.engine.resources import Resources, available
from deltic.errors import DelticError
from deltic.pipeline.defining import Defining
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.evolution import Evolution
from deltic.pipeline.definitions.evolving import DefinitionChanger
from deltic.pipeline.durable.keeping import Durability
from deltic.pipeline.durable.restoring import follow, go_on
from deltic.pipeline.durable.state import Checkpoints
from deltic.pipeline.engines import EngineName, Engines, Maintenance, RefreshName, StrategyName
from deltic.pipeline.epochs.clock import Clock, Time
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.epochs.opened import ActiveTransactions
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.names import check_choice, require_text
from deltic.pipeline.reading.rows import Rows
from deltic.pipeline.shards import Shards, slots
from deltic.pipeline.spark.spark import adopt_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from deltic.circuit.custom import OfPython
    from deltic.pipeline.commanding import CommandSession
    from deltic.pipeline.outside.refreshing import Refreshing
    from deltic.sql.statements.parameters import Args


class Pipeline(Defining):
    """Tables, and views over them that stay fresh at the cost of the change.

    Without a Spark session everything runs in this process; with one, DataFrames come and go through it.
    `engine` is "local", "reference" (slow; for tests), or "spark": rows are split into `shards`, a number of them or
    Shards, and a transaction is computed in this process or as one Spark job. "auto" is the local one without a
    session; with one, each transaction is computed where that is expected to be the quickest, and the state moves to
    shards where it would take more than `memory` of this process. docs/shards.md says more.

    `conflicts` says what to do with an insertion of a present row or a deletion of an absent one: "error" rejects the
    transaction, "normalize" makes it a no-op, "trust" adds it up, and shows the rows that are there on balance. `late`
    says what to do with rows that come later than their table's lateness allows: "drop" leaves them out, and the report
    of the epoch counts them; "error" rejects the transaction.

    Tables and views are one namespace, the `catalog`. `sql`, `datalog`, `table` and `view` add to it, `replace` and
    `drop` change it; each may be called while tables hold rows, and returns an Evolution, which says what changed. A
    name gives the relation to read, `pipeline["reaches"]`; `in`, `list` and `len` are about these names.

    The other parameters are about recursive views. `strategy` says what is kept beside their rows: "nested" counts
    derivations at every iteration, which makes updates quick; "elastic" counts those of a row's first iteration alone,
    which takes less memory, and searches again for what deletions take away; "full" counts nothing and computes the
    views anew in every epoch. {"VIEW": "elastic"} chooses for single views, each with those that it is mutually
    recursive with; the others are "nested". `refresh` is "auto": an update is abandoned, and the recursion computed
    anew, when what is left of it seems to cost more processor time than that; `switch` is the part of that
    which an update may cost before this is asked; "incremental": never recomputed; "incremental strict": moreover a
    program with an operator that has no derivative is refused; or "full": always recomputed. A
    transaction with a recursion that computes values, as `n(x + 1) :- n(x).` does, and takes more than
    `iteration_limit` iterations, or past 100 of them more than `recursion_timeout` seconds, is rejected with an
    IterationLimitError.

    Large changes are computed by `threads` threads, by default one for each processor. With a directory `spill`, or
    with a `state` in a directory, state may exceed memory: once large arrays take `memory` ("2 GiB", or a number of
    bytes; half of what is free by default), further ones are files in that directory, which go with the process.

    Once tables are large, hidden relations are kept where they save more work than they make; `rewrites` says which
    kinds of them: Rewrites(eliminate=False) keeps no projections and no tests of what nothing else needs, and
    Rewrites(share=False) nothing that several views compute.

    With a directory `state` all of this outlives the process: tables, views, definitions. A transaction that has ended
    without an exception is there after a crash at any moment, whole and once. `checkpoint` says how much the log of
    transactions may hold before the state is written beside it, while transactions go on: a number of epochs, bytes as
    in "64 MiB", or Checkpoints. One process at a time writes to a directory; `readonly` ones read what it has when
    they begin. With `program`, a file or a text of Datalog or SQL, the pipeline has just the definitions of that from
    then on; `evolution` lists what this changed. Use it as a context, or `close` it: docs/durability.md says more.

    `functions` are those of Python that SQL and Datalog may call, with aggregates and operators: these, or all that a
    file has. `pragmas` are said at the end of each program of Datalog, as {"word-size": "32"}. Views of SQL may ask for
    the time, which is one in each epoch: that of the machine, or `now`, which stands until `advance` moves it.

    Any number of threads use a pipeline: one at a time changes it, others that want to wait, for as long as `timeout`
    in seconds if there is one; readers never wait, and read the last committed epoch. Epochs are
    numbered, and the last `retain` of them can be read by `at`. Ctrl-C ends a transaction between two steps of its
    work, and leaves the state before it. A process that is forked cannot use the pipeline of its parent.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        engine: EngineName = "auto",
        conflicts: Conflicts = "error",
        late: LatePolicy = "drop",
        strategy: StrategyName | Mapping[str, StrategyName] = "nested",
        refresh: RefreshName = "auto",
        switch: float = 0.2,
        iteration_limit: int = ITERATION_LIMIT,
        recursion_timeout: float | None = RECURSION_TIMEOUT,
        threads: int | None = None,
        spill: str | Path | None = None,
        memory: int | str | None = None,
        rewrites: Rewrites = ALL,
        state: str | Path | None = None,
        checkpoint: Checkpoints | int | str | None = None,
        readonly: bool = False,
        program: str | Path | None = None,
        functions: Iterable[OfPython] | str | Path = (),
        pragmas: Mapping[str, str] = MappingProxyType({}),
        retain: int = 1,
        timeout: float | None = None,
        now: Time | None = None,
        shards: Shards | int | None = None,
    ) -> None:
        check_choice(engine, "engine", get_args(EngineName))
        check_choice(conflicts, "policy for conflicts", get_args(Conflicts))
        adopt_session(spark)
        self.spark = spark
        check_choice(late, "policy for late rows", get_args(LatePolicy))
        self.conflicts: Conflicts = conflicts
        self.late: LatePolicy = late
        maintenance = Maintenance(strategy, refresh, switch, iteration_limit, recursion_timeout)
        split = Shards.of(shards, engine, spark)
        resources = Resources.of(threads, spill, memory, state, moves=split is not None)
        budget = None if split is None or spill is not None else resources.memory or available() // 2
        at_once = 1 if split is None or spark is None else slots(spark)
        self._engines = Engines(engine, maintenance, resources, rewrites, split, spark, at_once, budget)
        self._clock, self._opened, self._keeping = Clock(now), ActiveTransactions(), Durability(self._engines.options)
        definitions = replace(_with_functions(functions) if functions else Definitions(), pragmas=dict(pragmas))
        made = self._engines.new(definitions.catalog.circuit)
        steps = self._keeping.before_epoch, self._keeping.log_epoch
        self._epochs = Epochs(made, definitions, retain, timeout, *steps, self._clock)
        self._evolving = DefinitionChanger(self._epochs, self._engines, self._keeping, self._opened, spark)
        self._streams = Lock()
        self.evolution: Evolution | None = None
        """What `program` changed."""
        if state is None and (readonly or checkpoint is not None):
            raise DelticError("readonly and checkpoint are about a state that is kept: name its directory with state=")
        if state is not None:
            kept = Checkpoints.of(checkpoint), readonly, self._keeping, self._evolving
            self.evolution = go_on(state, *kept, program)
        elif program is not None:
            self.evolution = self.redefine(program)

    def checkpoint(self) -> None:
        """Write the state, so that the next start has no log to read. Raises StateError, and the log stays then."""
        self._keeping.checkpoint(self._epochs)

    def compact(self) -> None:
        """Rewrite the whole state, in as few files as can be, and forget all older ones; so with files of shards.

        Raises StateError, and DelticError where there are neither.
        """
        self._keeping.compact(self._epochs)

    def follow(self) -> int:
        """Be as the writer of the state is by now, and give the number of the epoch; with `readonly` alone.

        It costs what the epochs since cost; where their log is no longer there, what opening the state costs.
        In the first case subscriptions go on with what these epochs changed. Raises StateError; the pipeline is as of
        the last epoch that it reached then.
        """
        follow(self._keeping.state, self._evolving)
        return self.epoch

    def close(self) -> None:
        """Write what the last checkpoint has not, and let go of the directory; without one there is nothing to do.

        Raises StateError where it cannot be written; the log has it then, and the directory is free.
        """
        self._keeping.close(self._epochs)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ddlog(self, text: str, file: str = "<ddlog>", directories: Sequence[str | Path] = ()) -> CommandSession:
        """Add a DDlog program, and give what runs DDlog's commands on it; docs/ddlog.md describes its relations.

        Other programs, SQL and Python read its relations by their names, `module.R` for `module::R`. Raises what
        `define` raises; DDlog is the package deltic-ddlog.
        """
        return self.command_session(text, "ddlog", file, directories)

    def command_session(
        self, text: str, language: str, file: str = "", directories: Sequence[str | Path] = ()
    ) -> CommandSession:
        """As `define`, for a language whose programs are run by commands: what runs them. Raises UnsupportedError."""
        from deltic.pipeline.commanding import commanded

        front = commanded(language)
        self.define(text, language, file, directories)
        return front.session(self, self._definitions.parts[-1])

    def sql(self, text: str, args: Args | None = None, file: str = "<sql>") -> Evolution | Transaction | Rows:
        """One or several statements of SQL, with `;` between them; docs/sql.md lists them.

        What the last one gives is returned: the Evolution of definitions, the Transaction of a change of a table, the
        Rows of a question. The whole text is checked before anything is done. Definitions that follow each other are
        one evolution, a change of a table is one epoch; those between BEGIN and COMMIT are one together, and what is
        asked there is answered as if they were committed. `query` and `execute` are for questions and for changes
        alone, and so of one type.

        `args` are the values of parameters in statements that change or ask: a dict for `:name`, a list or tuple for
        `?`. They are bound as values, whatever is in them. `file` is what messages call the text. Raises ProgramError.
        """
        return next(iter(deque(self.sql_results(text, args, file), maxlen=1)), self._evolving.nothing())

    def query(self, text: str, args: Args | None = None, file: str = "<sql>") -> Rows:
        seen = self.snapshot() if (begun := self.sql_transaction) is None else begun.preview()
        return seen.query(text, args, file)

    def execute(self, text: str, args: Args | None = None, file: str = "<sql>") -> Transaction:
        """INSERT, DELETE, UPDATE and MERGE as one epoch, or as part of the transaction that BEGIN has opened.

        Raises ProgramError for other statements, and what a transaction raises.
        """
        if (begun := self.sql_transaction) is not None:
            begun.sql(text, args, file)
            return begun
        with self.transaction() as change:
            change.sql(text, args, file)
        return change

    @property
    def sql_transaction(self) -> Transaction | None:
        """The transaction of this thread that BEGIN has opened; None after COMMIT, ROLLBACK and errors."""
        return self._opened.bracketed

    def sql_results(
        self, text: str, args: Args | None = None, file: str = "<sql>"
    ) -> Iterator[Evolution | Transaction | Rows]:
        """As `sql`: what each statement gives, or definitions that follow each other together, once it is done."""
        from deltic.pipeline.sql.planning import planned
        from deltic.pipeline.sql.steps import StatementRunner

        require_text(text)
        doors = self.transaction, self.snapshot, self.explain, self._engine_of
        steps = StatementRunner(self._evolving, self._opened, *doors)
        return steps.results(lambda definitions: list(planned(text, file, definitions, args)))

    def stream(
        self,
        df: DataFrame,
        into: str,
        name: str | None = None,
        order: str | Sequence[str] = (),
        conflicts: Conflicts | None = None,
    ) -> DataStreamWriter:
        """Apply a streaming DataFrame to a table: each micro-batch is one epoch, and is applied exactly once.

        Its rows all come, or say of themselves whether they do, in the forms that `Transaction.change` takes (a column
        `op`, `_change_type` or `__weight__`, envelopes of Debezium), or are records of Spark's Kafka source whose
        values are such changes as JSON. Columns are checked at once. What is returned is Spark's own writer, to go on
        with: `.option("checkpointLocation", …).trigger(…).start()`.

        The epoch has the batch as a position, so that a query which is started again goes on where the state is, and a
        batch that comes twice is applied once. Streams are told apart by `name`, that of the table if not given. Where
        changes are by key, `order` names the columns that say which one is the last, such as "source.lsn". Raises
        DataError and StreamError, and so does a batch that cannot be applied, or that does not follow on the state: it
        leaves no trace, and the query stops.
        """
        from deltic.pipeline.streaming.into import stream

        self._keeping.refuse_change()
        return stream(self, df, into, name, order, conflicts, self._place, self._streams, self._epochs.site)

    @cached_property
    def _refreshing(self) -> Refreshing:
        from deltic.pipeline.outside.refreshing import Refreshing
        from deltic.pipeline.outside.tasks import Tasks

        return Refreshing(
            self, lambda: self._keeping.files, Tasks(self.spark, self._epochs.site, self._epochs.compared)
        )

    def __repr__(self) -> str:
        tables, views = len(self.tables), len(self.views)
        what = f"{tables} table{'s' * (tables != 1)}, {views} view{'s' * (views != 1)}"
        return f"a pipeline of {what} after epoch {self.epoch}"

    def __reduce__(self) -> Any:
        raise DelticError(
            "a pipeline is of one process and cannot be sent to another: make one there, or send rows: "
            'pipeline["NAME"].to_arrow()'
        )


def _with_functions(functions: Iterable[OfPython] | str | Path) -> Definitions:
    """Definitions of functions alone."""
    from deltic.pipeline.python.functions import functions_of

    return reduce(Definitions.with_function, functions_of(functions), Definitions())
