"""The pipeline: what a user holds."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial, reduce
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from deltic.calculus.planning import ALL, Rewrites
from deltic.catalog import External, Table, schema_of
from deltic.catalog.lateness import Lateness
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.engine.batches import TableBatch
from deltic.engine.lateness import LatePolicy
from deltic.engine.protocol import Conflicts, Engine, Size
from deltic.engine.resources import Resources, available
from deltic.engine.version import Version
from deltic.errors import CatalogError, DelticError, ProgramWarning
from deltic.pipeline.clock import Clock, Time
from deltic.pipeline.definitions import Definitions, view_definition
from deltic.pipeline.durable.keeping import Keeping
from deltic.pipeline.durable.restoring import go_on
from deltic.pipeline.durable.state import Checkpoints
from deltic.pipeline.engines import EngineName, Engines, Maintenance, RefreshName, StrategyName
from deltic.pipeline.epochs import Epochs
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.evolving import Evolving
from deltic.pipeline.explaining import explained
from deltic.pipeline.history import Subscription
from deltic.pipeline.lateness import watermarks
from deltic.pipeline.names import check_choice, find
from deltic.pipeline.observing import Metrics, MetricsServer, sizes_table
from deltic.pipeline.opened import Opened
from deltic.pipeline.reading import Published, Reading
from deltic.pipeline.rows import Rows
from deltic.pipeline.shards import Shards, slots
from deltic.pipeline.snapshot import Snapshot
from deltic.pipeline.spark import check_session
from deltic.pipeline.transaction import Terms, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from deltic.circuit.custom import OfPython
    from deltic.circuit.python import Nulls
    from deltic.pipeline.ddlog.session import Session
    from deltic.pipeline.flow import Flow
    from deltic.pipeline.outside.declared import Publication
    from deltic.pipeline.outside.refreshing import Refreshing, RefreshReport


class Pipeline(Reading):
    """Tables, and views over them that stay fresh at the cost of the change.

    Without a Spark session everything runs in this process; with one, DataFrames come and go through it.
    `engine` is "local", "reference" (slow; for tests), or "spark": rows are split into `shards`, a number of them or
    Shards, and a transaction is computed in this process or as one Spark job. "auto" is the local one without a
    session; with one, each transaction is computed where that is expected to be the quickest, and the state moves to
    shards where it would take more than `memory` of this process. docs/shards.md tells more.

    `conflicts` says what to do with an insertion of a present row or a deletion of an absent one: "error" rejects the
    transaction, "normalize" makes it a no-op, "trust" adds it up, and shows the rows that are there on balance. `late`
    says what to do with rows that come later than their table's lateness allows: "drop" leaves them out, and the report
    of the epoch tells of them; "error" rejects the transaction.

    Tables and views are one namespace, the `catalog`. `sql`, `datalog`, `table` and `view` add to it, `replace` and
    `drop` change it; each may be called while tables hold rows, and returns an Evolution, which says what changed. A
    name gives the relation to read, `pipeline["reaches"]`; `in`, `list` and `len` are about these names.

    The other parameters are about recursive views. `strategy` says what is kept beside their rows: "nested" counts
    derivations at every iteration, which makes updates quick; "elastic" counts those of a row's first iteration alone,
    which takes less memory, and searches again for what deletions take away; "full" counts nothing and computes the
    views anew in every epoch. {"VIEW": "elastic"} chooses for single views, each with those that it is mutually
    recursive with; the others are "nested". `refresh` is "auto": an update is abandoned, and the recursion computed
    anew, when what is left of it seems to cost more processor time than that; `switch` is the part of that
    which an update may cost before this is asked; "incremental": never computed anew; "incremental strict": moreover a
    program with an operator that has no derivative is refused; or "full": always computed anew. A
    transaction with a recursion that computes values, as `n(x + 1) :- n(x).` does, and takes more than
    `iteration_limit` iterations is rejected with an IterationLimitError.

    Large changes are computed by `threads` threads, one for each processor if not told. With a directory `spill`, or
    with a `state` in a directory, state may exceed memory: once large arrays take `memory` ("2 GiB", or a number of
    bytes; half of what there is if not told), further ones are files in that directory, which go with the process.

    Once tables are large, hidden relations are kept where they save more work than they make; `rewrites` says which
    kinds of them: Rewrites(eliminate=False) keeps no projections and no tests of what nothing else needs, and
    Rewrites(share=False) nothing that several views compute.

    With a directory `state` all of this outlives the process: tables, views, definitions. A transaction that has ended
    without an exception is there after a crash at any moment, whole and once. `checkpoint` says how much the log of
    transactions may hold before the state is written beside it, while transactions go on: a number of epochs, bytes as
    in "64 MiB", or Checkpoints. One process at a time writes to a directory; `readonly` ones read what it has when
    they begin. With `program`, a file or a text of Datalog or SQL, the pipeline has just the definitions of that from
    then on; `evolution` tells what this changed. Use it as a context, or `close` it: docs/durability.md tells more.

    `functions` are those of Python that SQL and Datalog may call, with aggregates and operators: these, or all that a
    file has. `pragmas` are said at the end of each program of Datalog, as {"word-size": "32"}. Views of SQL may ask for
    the time, which is one in each epoch: that of the machine, or `now`, which stands until `advance` moves it.

    Any number of threads use a pipeline: one at a time changes it, others that want to wait, for as long as `timeout`
    in seconds if there is one; who reads waits for nobody, and reads what the last committed epoch has left. Epochs are
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
        check_session(spark)
        self.spark = spark
        check_choice(late, "policy for late rows", get_args(LatePolicy))
        self.conflicts: Conflicts = conflicts
        self.late: LatePolicy = late
        maintenance = Maintenance(strategy, refresh, switch, iteration_limit)
        split = Shards.of(shards, engine, spark)
        resources = Resources.of(threads, spill, memory, state, moves=split is not None)
        budget = None if split is None or spill is not None else resources.memory or available() // 2
        at_once = 1 if split is None or spark is None else slots(spark)
        self._engines = Engines(engine, maintenance, resources, rewrites, split, spark, at_once, budget)
        self._clock, self._opened, self._keeping = Clock(now), Opened(), Keeping(self._engines.options)
        definitions = replace(_with_functions(functions) if functions else Definitions(), pragmas=dict(pragmas))
        made = self._engines.new(definitions.catalog.circuit)
        steps = self._keeping.before_epoch, self._keeping.log_epoch
        self._epochs = Epochs(made, definitions, retain, timeout, *steps, self._clock)
        self._evolving = Evolving(self._epochs, self._engines, self._keeping, self._opened, spark)
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

    @property
    def positions(self) -> Mapping[str, Any]:
        """How far sources have been read: what transactions said of them, the last word on each."""
        return self._epochs.positions

    @property
    def watermarks(self) -> dict[str, Any]:
        """For each table with a lateness the time before which rows are late, None before it has had a row."""
        return watermarks(self.catalog, self._version())

    def checkpoint(self) -> None:
        """Write the state, so that the next start has no log to read. Raises StateError, and the log stays then."""
        self._keeping.checkpoint(self._epochs)

    def compact(self) -> None:
        """Write the whole state anew, in as few files as can be, and forget all older ones; so with files of shards.

        Raises StateError, and DelticError where there are neither.
        """
        self._keeping.compact(self._epochs)

    def follow(self) -> int:
        """Be as the writer of the state is by now, and give the number of the epoch; with `readonly` alone.

        It costs what the epochs since cost; where their log is no longer there, what opening the state costs.
        In the first case subscriptions go on with what these epochs changed. Raises StateError; the pipeline is as of
        the last epoch that it reached then.
        """
        self._keeping.follow(self._evolving)
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

    def datalog(
        self, text: str, file: str = "<datalog>", macros: Mapping[str, str] = MappingProxyType({})
    ) -> Evolution:
        """Add a Datalog program: its declarations, rules and facts join those that are there.

        `file` is what messages call the text; the files that it includes are sought beside it. `macros` are as if each
        was defined by a line `#define NAME text`. Rules may read every table and view of the pipeline. Raises
        ProgramError with all findings, and the pipeline stays as it was; what is likely wrong, but has a meaning, is
        told by a ProgramWarning. Where tables hold rows already, what is new is
        computed from them, and nothing else is: the evolution that is returned says what that was.
        """
        return self._warned(self._evolving.evolve(lambda now: now.adding(text, file, macros)))

    def ddlog(self, text: str, file: str = "<ddlog>", directories: Sequence[str | Path] = ()) -> Session:
        """Add a DDlog program, and give what runs DDlog's commands on it; docs/ddlog.md tells what its relations are.

        Modules that it imports are sought beside `file`, then in the directories. Other programs, SQL and Python read
        its relations by their names, `module.R` for `module::R`. Raises ProgramError, and the pipeline stays as it was.
        """
        from deltic.pipeline.ddlog.session import Session

        places = [str(place) for place in directories]
        self._evolving.evolve(lambda now: now.with_ddlog(text, file, places))
        return Session(self, self._definitions.ddlog[-1])

    def sql(self, text: str, file: str = "<sql>") -> Evolution | Transaction | Rows:
        """One or several statements of SQL, with `;` between them; docs/sql.md tells which there are.

        What the last one gives is returned: the Evolution of definitions, the Transaction of a change of a table, the
        Rows of a question. The whole text is checked before anything is done. Definitions that follow each other are
        one evolution, a change of a table is one epoch; those between BEGIN and COMMIT are one together, and what is
        asked there is answered as if they were committed. `file` is what messages call the text. Raises ProgramError.
        """
        return next(iter(deque(self.sql_results(text, file), maxlen=1)), self._evolving.nothing())

    @property
    def sql_transaction(self) -> Transaction | None:
        """The transaction of this thread that BEGIN has opened; None after COMMIT, ROLLBACK and errors."""
        return self._opened.bracketed

    def sql_results(self, text: str, file: str = "<sql>") -> Iterator[Evolution | Transaction | Rows]:
        """As `sql`: what each statement gives, or definitions that follow each other together, once it is done."""
        from deltic.pipeline.sql import planned
        from deltic.pipeline.steps import Steps

        definitions = self._definitions
        steps = list(planned(text, file, definitions))
        doors = self.transaction, self.snapshot, self.explain, self._engine_of
        return Steps(self._evolving, self._opened, *doors).done(steps, definitions)

    def replace(
        self, text: str, file: str = "<datalog>", macros: Mapping[str, str] = MappingProxyType({})
    ) -> Evolution:
        """As `datalog`, but the text takes the place of what there is about the relations that it derives.

        Their earlier facts and rules go; so do the declaration and the directives of those that it declares.
        """
        return self._warned(self._evolving.evolve(lambda now: now.replacing(text, file, macros)))

    def _warned(self, evolution: Evolution) -> Evolution:
        """What became of definitions; of what is likely wrong in their programs Python's warnings tell, once each."""
        for finding in self.checked.warnings:
            warnings.warn(finding.render(), ProgramWarning, stacklevel=3)
        return evolution

    def redefine(self, program: str | Path, macros: Mapping[str, str] = MappingProxyType({})) -> Evolution:
        """Have just the definitions of a program, in a file or as text, in SQL or Datalog (with `macros`).

        What it has in common with the present ones stays, what it has not goes. Raises ProgramError, DataError for a
        file that is not text, and CatalogError where a table that holds rows would go.
        """
        return self._evolving.redefine(program, macros)

    def table(
        self,
        name: str,
        columns: Any = None,
        key: str | Sequence[str] = (),
        bag: bool | None = None,
        lateness: Mapping[str, timedelta | int] | None = None,
        source: External | DataFrame | str | Path | None = None,
    ) -> Evolution:
        """Add a table: `pipeline.table("sale", {"id": "int64", "shop": "string", "price": "float64?"}, key="id")`.

        `columns` maps names to types: texts such as "decimal(10, 2)" or "array(string?)", with a question mark where
        a value may be NULL, Python classes, or types of Arrow and of `deltic.circuit.types`; an Arrow schema does as
        well. A table is a set of rows, or with `bag` a bag, where a row may be there several times. `key` are
        the columns that tell rows apart: they are never NULL, the table is a set, and a transaction after which two
        rows would agree in them is rejected with a ChangeError. With `lateness={"ts": timedelta(hours=1)}` a row that
        comes or goes is late where its `ts` is more than that behind the greatest of the transactions before;
        docs/sql.md tells what becomes of it.

        With a `source` the table has the rows of that: an External, a Spark DataFrame, or the path of a folder of
        files or of a Delta table; docs/refresh.md has all kinds. `refresh` lets it follow them. Its columns are then
        those of the source, if they are not given, and without a key it is a bag. Raises CatalogError.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        place, frame = (None, None) if source is None else self._refreshing.place_of(source)
        if columns is None and place is not None:
            schema = self._refreshing.columns(place, frame, keys)
        else:
            schema = schema_of(name, columns)
        is_bag = bool(place and not keys) if bag is None else bag
        late = Lateness.of(name, schema, lateness)
        table = Table(name, schema, keys, is_bag, lateness=late, source=place)
        evolution = self._evolving.evolve(lambda now: now.with_table(table))
        if frame is not None:
            self._refreshing.give(name, frame)
        return evolution

    def attach(self, name: str, source: External | DataFrame | str | Path) -> None:
        """Let a table have the rows of another source from the next refresh on: what differs comes and goes.

        A DataFrame is to be attached in each process anew. Raises CatalogError.
        """
        find(name, "table", self.tables)
        place, frame = self._refreshing.place_of(source)
        if self.sources.get(name) != place:
            self._evolving.evolve(lambda now: now.attaching(name, place))
        self._refreshing.give(name, frame)

    def detach(self, name: str) -> None:
        """Let a table have the source again that its definition names, or none; its rows stay.

        Raises CatalogError where none was attached to it.
        """
        find(name, "table", self.tables)
        if name not in self.attached:
            raise CatalogError(f"{name} has no source that was attached to it")
        self._evolving.evolve(lambda now: now.attaching(name, None))
        self._refreshing.give(name, None)

    @property
    def attached(self) -> Mapping[str, External]:
        """The sources that were attached to tables, by their names; those that definitions name are not among them."""
        return self._definitions.outside.attached

    @property
    def sources(self) -> Mapping[str, External]:
        """Where the rows of tables come from that are refreshed, by the names of the tables."""
        return self._definitions.sources

    def refresh(self, full: bool = False) -> RefreshReport:
        """Let all tables with a source have the rows that these have now, in one epoch, or none of them.

        What is read is what is new since the last refresh, as far as a source can tell; with `full` all of it is read
        and compared. The positions of the sources are part of the epoch, so that a refresh after a crash goes on behind
        it. Raises DataError where rows do not fit their table, ChangeError where they do not go together, and what
        a source raises; then all tables are as before.
        """
        self._keeping.refuse_change()
        return self._refreshing.refresh(full)

    def publish(self, view: str, to: External | str | Path) -> None:
        """Let a view be published with each refresh, in the state of the pipeline from now on.

        `to` is an External: a Delta table, a table of a database, a temporary view of Spark, a folder of Parquet files;
        or the path of such a folder. What is there already stays so. Raises CatalogError for what cannot be a target.
        """
        self._check_view(view)
        publication = self._refreshing.publication(view, to)
        if not self._definitions.outside.of(view, publication.to):
            self._evolving.evolve(lambda now: now.publishing(publication))

    def unpublish(self, view: str, to: External | str | Path | None = None) -> None:
        """Publish a view no longer: there, or nowhere. What was published stays as it is. Raises DelticError."""
        place = None if to is None else self._refreshing.publication(view, to).to
        if not self._definitions.outside.of(view, place):
            raise DelticError(f"{view} is not published{'' if place is None else f' to {place}'}")
        self._evolving.evolve(lambda now: now.unpublishing(view, place))

    @property
    def publications(self) -> tuple[Publication, ...]:
        """Which views are published, and where."""
        return self._definitions.outside.publications

    def pending(self, positions: Mapping[str, Any] | None = None) -> dict[str, str]:
        """What the next `refresh` would read of each source; nothing of it is read.

        With the `positions` of another pipeline of this program, it is what that one would read.
        """
        return self._refreshing.pending(positions)

    @cached_property
    def _refreshing(self) -> Refreshing:
        from deltic.pipeline.outside.refreshing import Refreshing

        return Refreshing(self, lambda: self._keeping.files, self._epochs.site)

    def flow(self, name: str) -> Flow:
        """A table or view to build others of in Python, with `view`: docs/streams.md and docs/extending.md tell how."""
        from deltic.pipeline.flow import Flow

        return Flow.of(name, find(name, "view or table", self.catalog.relations))

    def view(self, name: str, circuit: Circuit | Flow | str, hidden: bool = False, replace: bool = False) -> Evolution:
        """Add a view that a circuit computes, or its text, or a flow; their sources are tables and views by name.

        The view is the sink of that name, or the one that there is. A `hidden` one is there for other definitions:
        nobody reads it, and what nobody needs of it is not computed. With `replace` it takes the place of the view
        of that name, however that was defined. Raises CatalogError, and for a text ProgramError.
        """
        definition = view_definition(name, circuit, hidden)
        if replace:
            find(name, "view", self.catalog.views, dict.fromkeys(self.catalog.tables, "it is a table"))
        return self._evolving.evolve(lambda now: now.with_view(definition, replace))

    def function(
        self,
        name: str | OfPython,
        body: Callable[..., Any] | None = None,
        *,
        arguments: Sequence[Any] | None = None,
        returns: Any = None,
        vectorized: bool = False,
        nulls: Nulls = "skip",
        deterministic: bool = False,
    ) -> Evolution:
        """Add a function of Python, which SQL and Datalog call by its name, or what `deltic.function` has made.

        What `deltic.aggregate` and `deltic.operator` have made they call, too: docs/extending.md says how.

        `arguments` and `returns` are types as those of `table`, "int64?" where the result may be NULL; without them the
        annotations of the function count. It gets the values of one row; `vectorized`, Arrow arrays of as many rows as
        it pleases Deltic, and gives one. Where an argument is NULL the result is, and the function is not called; with
        `nulls="pass"` it gets None. It has to be `deterministic`: rows that go are found by computing it again. Another
        function of the same name takes its place, and the views that call it are made anew, if its code, constants,
        closure, or a function of its module that it calls, is another. A state in a directory has no code of Python in
        it: the pipeline that opens it is given the functions by `functions`. Raises CatalogError.
        """
        from deltic.pipeline.functions import function

        if isinstance(name, str):
            kept = {"arguments": arguments, "returns": returns, "vectorized": vectorized, "nulls": nulls}
            found = function(body, name=name, deterministic=deterministic, **kept)
        else:
            found = name
        return self._evolving.evolve(lambda now: now.with_function(found))

    def drop(self, *names: str) -> Evolution:
        """Drop tables, with their rows, and views. Raises CatalogError where others read them."""
        for name in names:
            find(name, "view or table", {**self.catalog.relations, **dict.fromkeys(self.checked.inlined)})
        return self._evolving.evolve(lambda now: now.dropping(names))

    def transaction(
        self,
        conflicts: Conflicts | None = None,
        token: str = "",
        positions: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        late: LatePolicy | None = None,
    ) -> Transaction:
        """A transaction, for a with-block: all changes made in it are one epoch, or none takes effect.

        Several threads may have one open, which are committed one after the other, each over the tables as the one
        before has left them. `conflicts`, `timeout` and `late` override those of the pipeline. The end of the block
        raises ChangeError where the changes do not fit the tables, DataError where values of statements do not, and
        BusyError after a wait of `timeout` seconds for other threads. After any exception the tables and views are as
        before.

        `positions` say how far sources have been read, by their names, in anything that JSON can hold; they are part of
        the epoch, and so is a `token`.
        """
        return self._transaction(conflicts, timeout, token, positions or {}, late=late)

    def advance(self, to: Time | None = None) -> Transaction:
        """An epoch in which time alone passes: `current_timestamp` is `to` then, or the machine's time.

        `to` is a datetime, or a text such as "2026-03-01T12:30:00Z", in UTC where it has no zone. Where the pipeline
        was not made with a time that stands, the machine's goes on from there once it is later. Raises DelticError for
        a time before that of the last epoch.
        """
        if to is not None:
            self._clock.advance(to, self.catalog, self._epochs.engine)
        with self.transaction() as change:
            pass
        return change

    def what_if(self, conflicts: Conflicts | None = None, timeout: float | None = None) -> Transaction:
        """A transaction that is discarded at the end of its block, unless its `commit` is called in it.

        Its `preview` has the tables and views as they would be, and their changes. Others may read and write meanwhile.
        """
        return self._transaction(conflicts, timeout, is_kept=False)

    def _transaction(
        self,
        conflicts: Conflicts | None,
        timeout: float | None,
        token: str = "",
        positions: Mapping[str, Any] | None = None,
        is_kept: bool = True,
        late: LatePolicy | None = None,
    ) -> Transaction:
        self._keeping.refuse_change()
        self._opened.refuse("transactions do not nest")
        if not self._epochs.have_begun:
            self._engines.maintenance.check(self.catalog)
        chosen = conflicts or self.conflicts
        check_choice(chosen, "policy for conflicts", get_args(Conflicts))
        chosen_late = late or self.late
        check_choice(chosen_late, "policy for late rows", get_args(LatePolicy))
        terms = Terms(chosen, timeout, token, positions or {}, is_kept, chosen_late)
        made = Transaction(self._epochs, terms, self._engine_of, self.spark)
        self._opened.note(made)
        return made

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

    def explain(self, name: str, full: bool = False) -> str:
        """How a view is kept fresh: what its parts cost and keep, and its delta queries.

        `full`: also its circuit before and after, why that is right, and the plan of each delta query.
        """
        self._check_view(name)
        pushed = self._evolving.pushed if self._engines.rewrites.demand else None
        return explained(name, full, self._epochs.engine, self._definitions, pushed)

    def circuit(self, name: str | None = None) -> Circuit:
        """The circuit of one view, or of all views together."""
        if name is None:
            return self.catalog.circuit
        self._check_view(name)
        return self.catalog.circuit.part(name)

    def changes(self, view: str, since: int | None = None) -> Subscription:
        """Follow a view: how each epoch after `since` has changed it, or each one after the present one.

        The changes of the last 1,000 epochs are there, of at most a million rows together. Raises DelticError for an
        epoch before these, or that has not been.
        """
        self._check_view(view)
        self._version()
        position = self.epoch if since is None else since
        return Subscription(view, self.views[view], self._epochs.history, position, self.spark)

    def sizes(self) -> Rows:
        """The memory of the state: for each relation and each order in which it is kept, the entries and the bytes.

        Beside tables and views these are the relations of the plan, by the names that `explain` has for them.
        """
        return Rows(TableBatch(sizes_table(self._sizes())), self.spark)

    def serve_metrics(self, port: int = 9464, host: str = "127.0.0.1") -> MetricsServer:
        """Serve numbers of epochs and state from now on, in Prometheus' text format, at http://HOST:PORT/metrics.

        Port 0 is any free one. What is returned has the `port`, and ends it by `close` or at the end of a with-block.
        """
        version = self._version()
        metrics = Metrics({view: version.count(view) for view in self.views}, self._sizes, lambda: self.watermarks)
        server = MetricsServer(metrics.text, host, port, partial(self._epochs.observers.remove, metrics.epoch))
        self._epochs.observers.append(metrics.epoch)
        return server

    def _sizes(self) -> list[Size]:
        with self._epochs.writing():
            return self._epochs.engine.sizes()

    def __repr__(self) -> str:
        tables, views = len(self.tables), len(self.views)
        what = f"{tables} table{'s' * (tables != 1)}, {views} view{'s' * (views != 1)}"
        return f"a pipeline of {what} after epoch {self.epoch}"

    @property
    def epoch(self) -> int:
        """The number of the last epoch: every transaction is one, and every change of definitions once there is one.

        It is 0 before the first one. What follows from facts alone is an epoch, too, when somebody reads before then.
        """
        return self._epochs.last.version.epoch

    def snapshot(self) -> Snapshot:
        """The tables and views as they are now, to read several of them as of one epoch."""
        self._version()
        return self._snapshot(self._epochs.last)

    def at(self, epoch: int) -> Snapshot:
        """The tables and views as of an epoch that is retained: of the last `retain` ones, as the pipeline was told.

        Raises DelticError for others, which says which are.
        """
        return self._snapshot(self._epochs.at(epoch))

    def _snapshot(self, published: Published) -> Snapshot:
        return Snapshot(published, self._engine_of, self.spark)

    @property
    def _definitions(self) -> Definitions:
        return self._epochs.last.definitions

    @property
    def _place(self) -> str | None:
        return self._keeping.place

    def _version(self) -> Version:
        """The rows as they are now; what facts alone give is derived before the first transaction."""
        if not self._epochs.have_begun:
            self._engines.maintenance.check(self.catalog)
            with self._epochs.writing():
                self._epochs.begin()
        return self._epochs.last.version

    def _engine_of(self, circuit: Circuit) -> Engine:
        """An engine for one answer."""
        return self._clock.show(self._engines.for_answer(circuit), circuit)

    def __reduce__(self) -> Any:
        raise DelticError(
            "a pipeline is of one process and cannot be sent to another: make one there, or send rows: "
            'pipeline["NAME"].to_arrow()'
        )


def _with_functions(functions: Iterable[OfPython] | str | Path) -> Definitions:
    """Definitions of functions alone."""
    from deltic.pipeline.functions import functions_of

    return reduce(Definitions.with_function, functions_of(functions), Definitions())
