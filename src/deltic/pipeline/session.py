"""The pipeline: its construction, and the methods that combine several of its parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from deltic.engine.conflicts import Conflicts
from deltic.engine.resources import available
from deltic.errors import DelticError, count_of
from deltic.pipeline.defining import Defining
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.engines import EngineName, Engines
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.clock import Clock
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.evolving import DefinitionChanger
from deltic.pipeline.names import check_choice, require_text
from deltic.pipeline.options import Durability, Maintenance, Recursion, Resources, Transactions, explains_groups
from deltic.pipeline.restoring import follow, go_on
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.shards import Shards, slots
from deltic.pipeline.spark.spark import adopt_session
from deltic.pipeline.streaming.rejected import COLUMNS, OnErrors, rejects_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from deltic.circuit.custom import OfPython
    from deltic.pipeline.commanding import CommandSession
    from deltic.pipeline.sql.planning import PlannedText
    from deltic.pipeline.statements.prepared_statement import PreparedStatement
    from deltic.pipeline.statements.steps import SqlSession
    from deltic.sql.statements.parameters import Args


class Pipeline(Defining):
    """Tables, and views over them that are updated at the cost of each change.

    - `spark`: the session of DataFrames; without one everything runs in this process.
    - `engine`: "local" (this process), "spark" (shards, in this process or as Spark jobs), "auto" (per transaction the
      quickest; without a session, local), or "reference" (slow; for tests).
    - `state`: a directory that keeps tables, views and definitions beyond the process; see docs/durability.md.
    - `program`: a file or text of Datalog or SQL with all definitions; `evolution` lists what it changed.
    - `functions`: Python functions, aggregates and operators for SQL and Datalog, or the path of a module with them.
    - `pragmas`: what is added to each Datalog program, as in {"word-size": "32"}.

    The other parameters are groups of options, each documented by its class: Transactions, Maintenance, Recursion,
    Durability, Resources, and Shards (or their number).

    Tables and views are one namespace, the `catalog`. `sql`, `datalog`, `table` and `view` add to it, `replace` and
    `drop` change it, at any time, and return an Evolution that lists what changed. `pipeline["reaches"]` reads a
    relation; `in`, `list` and `len` are about names. Use a pipeline as a context, or `close` it.

    A transaction is committed whole and once, or leaves no trace; with a `state` it survives a crash at any moment. Any
    number of threads use a pipeline: one at a time changes it; readers never wait, and read the last committed epoch.
    Ctrl-C undoes a transaction. A forked process cannot use its parent's pipeline.
    """

    @explains_groups
    def __init__(
        self,
        spark: SparkSession | None = None,
        engine: EngineName = "auto",
        state: str | Path | None = None,
        program: str | Path | None = None,
        functions: Iterable[OfPython] | str | Path = (),
        *,
        pragmas: Mapping[str, str] = MappingProxyType({}),
        transactions: Transactions = Transactions(),
        maintenance: Maintenance = Maintenance(),
        recursion: Recursion = Recursion(),
        durability: Durability | None = None,
        resources: Resources = Resources(),
        shards: Shards | int | None = None,
    ) -> None:
        check_choice(engine, "engine", get_args(EngineName))
        adopt_session(spark)
        self.spark = spark
        self._terms = transactions
        split = Shards.of(shards, engine, spark)
        limits = resources.limits(state, moves=split is not None)
        budget = None if split is None or resources.spill is not None else limits.memory or available() // 2
        at_once = 1 if split is None or spark is None else slots(spark)
        self._engines = Engines(engine, maintenance, recursion, limits, split, spark, at_once, budget)
        self._clock, self._opened = Clock(transactions.now), ActiveTransactions()
        self._keeping = StateKeeper(self._engines.options)
        definitions = replace(_with_functions(functions) if functions else Definitions(), pragmas=dict(pragmas))
        made = self._engines.new(definitions.catalog.circuit)
        steps = recursion.check, self._keeping.before_epoch, self._keeping.log_epoch
        self._epochs = Epochs(made, definitions, transactions.retain, transactions.timeout, *steps, self._clock)
        self._source = self._epochs
        self._evolving = DefinitionChanger(self._epochs, self._engines, self._keeping, self._opened, spark)
        self._streams = Lock()
        self.evolution: Evolution | None = None
        """What `program` changed."""
        if state is None and durability is not None:
            raise DelticError("durability is about a state that is kept: name its directory with state=")
        if state is not None:
            self.evolution = go_on(state, durability or Durability(), self._keeping, self._evolving, program)
        elif program is not None:
            self.evolution = self.redefine(program)

    def checkpoint(self) -> None:
        """Write the state, so that the next start reads no log. Raises StateError and keeps the log."""
        self._keeping.checkpoint(self._epochs)

    def compact(self) -> None:
        """Rewrite the whole state, or the files of shards, in as few files as possible, and drop all older ones.

        Raises StateError, and DelticError where there are neither.
        """
        self._keeping.compact(self._epochs)

    def follow(self) -> int:
        """Apply what the writer of the state has committed since, and return the epoch; `readonly` pipelines only.

        Costs as much as those epochs, which subscriptions then see; or as opening the state, if their log is gone.
        Raises StateError; the pipeline then stays at the last epoch that it reached.
        """
        follow(self._keeping.state, self._evolving)
        return self.epoch

    def close(self) -> None:
        """Write what the last checkpoint lacks, and release the directory; without one, do nothing.

        Raises StateError if that fails; the log has the changes, and the directory is released.
        """
        self._keeping.close(self._epochs)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ddlog(self, text: str, file: str = "<ddlog>", directories: Sequence[str | Path] = ()) -> CommandSession:
        """Add a DDlog program, and return a session that runs DDlog's commands; see docs/ddlog.md.

        Other programs, SQL and Python read its relations by their names, `module.R` for `module::R`. Raises what
        `define` raises; DDlog is the package deltic-ddlog.
        """
        return self.command_session(text, "ddlog", file, directories)

    def command_session(
        self, text: str, language: str, file: str = "", directories: Sequence[str | Path] = ()
    ) -> CommandSession:
        """Add a program as `define` does; returns a session that runs commands. Raises UnsupportedError."""
        from deltic.pipeline.commanding import commanded

        front = commanded(language)
        self.define(text, language, file, directories)
        return front.session(self, self._definitions.parts[-1])

    def sql(self, text: str, args: Args | None = None, file: str = "<sql>") -> Evolution | Transaction | Rows:
        """Run one or several statements of SQL, separated by `;`; docs/sql.md lists them.

        Returns the last result: the Evolution of definitions, the Transaction of a change, or the Rows of a query. All
        statements are checked before the first one runs. Consecutive definitions are one evolution, each change is one
        epoch, and the changes between BEGIN and COMMIT are one epoch, whose queries see them. `query` and `execute`
        take queries or changes alone, and have one return type.

        `args` are the values of parameters: a dict for `:name`, a list or tuple for `?`. They are bound as values.
        `file` is the name of the text in messages. Raises ProgramError.
        """
        return next(iter(deque(self.sql_results(text, args, file), maxlen=1)), self._evolving.nothing())

    def query(self, text: str, args: Args | None = None, file: str = "<sql>") -> Rows:
        seen = self.snapshot() if (begun := self.sql_transaction) is None else begun.preview()
        return seen.query(text, args, file)

    def execute(self, text: str, args: Args | None = None, file: str = "<sql>") -> Transaction:
        """INSERT, DELETE, UPDATE and MERGE as one epoch, or in the transaction that BEGIN has opened.

        Raises ProgramError for other statements, and what a transaction raises.
        """
        if (begun := self.sql_transaction) is not None:
            begun.sql(text, args, file)
            return begun
        with self.transaction() as change:
            change.sql(text, args, file)
        return change

    def prepare(self, text: str, file: str = "<sql>") -> PreparedStatement:
        """One INSERT, UPDATE, DELETE, MERGE or SELECT that runs many times, with other values of its parameters.

        `pipeline.prepare("INSERT INTO sale VALUES (?, ?)").execute([1, "ada"])`. Raises ProgramError for other texts;
        mistakes in it are found when it runs.
        """
        from deltic.pipeline.statements.prepared_statement import PreparedStatement

        require_text(text)
        return PreparedStatement(text, file, self.execute, self.query, lambda: self._definitions)

    @property
    def sql_transaction(self) -> Transaction | None:
        """The transaction of this thread that BEGIN has opened; None after COMMIT, ROLLBACK and errors."""
        return self._opened.bracketed

    def sql_results(
        self, text: str, args: Args | None = None, file: str = "<sql>"
    ) -> Iterator[Evolution | Transaction | Rows]:
        """As `sql`, one result for each statement, or for consecutive definitions, as soon as it is done."""
        from deltic.pipeline.statements.session_variables import results_of_text

        require_text(text)
        return results_of_text(self._sql_session, text, args, file)

    def planned_sql(
        self, text: str, args: Args | None = None, file: str = "<sql>", outside: bool = True
    ) -> PlannedText:
        """Check statements as `sql` does, and return what they would do. Raises ProgramError.

        Without `outside`, a statement that makes a table from an external source is an error.
        """
        from deltic.pipeline.sql.planning import PlannedText, planned

        require_text(text)
        definitions = self._definitions
        return PlannedText(planned(text, file, definitions, args, outside), definitions)

    def run_planned(self, text: PlannedText) -> Iterator[Evolution | Transaction | Rows]:
        """Run a planned text: the result of each statement as soon as it is done. Raises what `sql` does.

        Raises DefinitionsMovedError where definitions have changed since it was planned.
        """
        return self._sql_session.done(text.steps, text.definitions)

    @property
    def _sql_session(self) -> SqlSession:
        from deltic.pipeline.statements.steps import SqlSession

        return SqlSession(
            self, self._evolving, self._opened, lambda tables: self._refreshing.load(tables), self._engine_of
        )

    def unchanged(self) -> Evolution:
        """Return the Evolution of a text without statements, or whose statements change nothing."""
        return self._evolving.nothing()

    def stream(
        self,
        df: DataFrame,
        into: str,
        name: str | None = None,
        order: str | Sequence[str] = (),
        conflicts: Conflicts | None = None,
        errors: OnErrors = "stop",
        coerce: bool = False,
    ) -> DataStreamWriter:
        """Apply a streaming DataFrame to a table: each micro-batch is one epoch, applied exactly once.

        Its rows are insertions; or changes in a form that `Transaction.change` takes (a column `op`, `_change_type` or
        `__weight__`, envelopes of Debezium); or records of Spark's Kafka source whose values are such changes in JSON.
        Columns are checked at once. Returns Spark's own writer: `.option("checkpointLocation", …).trigger(…).start()`.

        The epoch stores the batch as a position: a restarted query continues at the state, and a repeated batch is
        applied once. `name` identifies the stream, by default the table's name. For changes by key, `order` names the
        columns that decide which one is last, such as "source.lsn". Raises DataError and StreamError; so does a batch
        that cannot be applied or does not follow the state: it leaves no trace, and the query stops.

        With `errors="table"` rows that do not fit go to the table `<into>_errors`, which is made if it is missing, in
        the epoch of their batch: the row and the reason, its position as JSON, and the epoch. With `coerce`, values
        that do not fit are rounded, as by `Transaction.insert`.
        """
        from deltic.pipeline.streaming.into import TableStream

        self._keeping.refuse_change()
        check_choice(errors, "choice of errors", get_args(OnErrors))
        if errors == "table" and rejects_of(into) not in self.tables:
            self.table(rejects_of(into), COLUMNS)
        orders, site = (order,) if isinstance(order, str) else tuple(order), self._epochs.site
        place, lock = self.place, self._streams
        stream = TableStream(self, into, name or into, orders, conflicts, place, lock, site, errors, coerce)
        return stream.writer(df)

    def __repr__(self) -> str:
        tables, views = len(self.tables), len(self.views)
        what = f"{count_of(tables, 'table')}, {count_of(views, 'view')}"
        return f"a pipeline of {what} after epoch {self.epoch}"

    def __reduce__(self) -> Any:
        raise DelticError(
            "a pipeline belongs to one process and cannot be sent to another: make one there, or send rows: "
            'pipeline["NAME"].to_arrow()'
        )


def _with_functions(functions: Iterable[OfPython] | str | Path) -> Definitions:
    """Definitions of functions alone."""
    from deltic.pipeline.python.functions import functions_of

    return reduce(Definitions.with_function, functions_of(functions), Definitions())
