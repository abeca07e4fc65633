"""The pipeline: what a user holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from deltic.calculus.inside import operators_inside
from deltic.calculus.planning import ALL, Rewrites
from deltic.calculus.planning.magic import Pushed
from deltic.catalog import Catalog, Definition, Difference, Table, schema_of
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.circuit.operators import Feedback
from deltic.circuit.types import Schema
from deltic.datalog import CheckedProgram, parse
from deltic.engine.batches import TableBatch
from deltic.engine.local.critical_section import CriticalSection
from deltic.engine.prepared import Prepared
from deltic.engine.protocol import Conflicts, Engine, EpochResult
from deltic.engine.resources import Resources
from deltic.errors import CatalogError, DelticError, UnsupportedError
from deltic.pipeline.definitions import Definitions, program_of, view_definition
from deltic.pipeline.durable.checkpoint import Moment
from deltic.pipeline.durable.log import Record
from deltic.pipeline.durable.state import Checkpoints, State, check_options
from deltic.pipeline.engines import EngineName, Maintenance, RefreshName, StrategyName, asked, new_engine
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.keys import check_keys
from deltic.pipeline.names import check_choice, find
from deltic.pipeline.rows import Rows
from deltic.pipeline.spark import check_session
from deltic.pipeline.transaction import Batches, Transaction
from deltic.pipeline.views import View

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.pipeline.sql import Explained, Step
    from deltic.sql.statements.effects import Effect

_HIDDEN = "it is hidden, there for other views alone"
_INLINED = "it is inlined: its rules stand in those of others"


class Pipeline:
    """Tables, and views over them that stay fresh at the cost of the change.

    Without a Spark session everything runs in this process; with one, DataFrames come and go through it.
    `engine` is "local", "reference" (slow; for tests) or "auto", which is the local one. `conflicts` says what to do
    with an insertion of a present row or a deletion of an absent one: "error" rejects the transaction,
    "normalize" makes it a no-op, "trust" adds it up, and shows the rows that are there on balance.

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

    Large changes are computed by `threads` threads, one for each processor if not told. With a directory `spill`, state
    may exceed memory: once large arrays take `memory` ("2 GiB", or a number of bytes; half of the machine's if not
    told), further ones are files in that directory, which go with the process.

    Once tables are large, hidden relations are kept where they save more work than they make; `rewrites` says which
    kinds of them: Rewrites(eliminate=False) keeps no projections and no tests of what nothing else needs, and
    Rewrites(share=False) nothing that several views compute.

    With a directory `state` all of this outlives the process: tables, views, definitions. A transaction that has ended
    without an exception is there after a crash at any moment, whole and once. `checkpoint` says how much the log of
    transactions may hold before the state is written beside it, while transactions go on: a number of epochs, bytes as
    in "64 MiB", or Checkpoints. One process at a time writes to a directory; `readonly` ones read what it has when
    they begin. With `program`, a file or a text of Datalog or SQL, the pipeline has just the definitions of that from
    then on; `evolution` tells what this changed. Use it as a context, or `close` it: docs/durability.md tells more.

    One thread at a time uses a pipeline; a second one gets a DelticError. Ctrl-C ends a transaction between two
    steps of its work, and leaves the state before it.
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
        threads: int | None = None,
        spill: str | Path | None = None,
        memory: int | str | None = None,
        rewrites: Rewrites = ALL,
        state: str | Path | None = None,
        checkpoint: Checkpoints | int | str | None = None,
        readonly: bool = False,
        program: str | Path | None = None,
    ) -> None:
        check_choice(engine, "engine", get_args(EngineName))
        check_choice(conflicts, "policy for conflicts", get_args(Conflicts))
        check_session(spark)
        self.spark = spark
        self.conflicts: Conflicts = conflicts
        self._engine_name: EngineName = engine
        self._definitions = Definitions()
        self._maintenance = Maintenance(strategy, refresh, switch, iteration_limit)
        self._resources = Resources.of(threads, spill, memory)
        self._rewrites = rewrites
        self._engine: Engine = new_engine(engine, self.catalog.circuit, self._maintenance, self._resources, rewrites)
        self._pushed: tuple[Pushed, ...] = ()
        self._transaction: Transaction | None = None
        self._closed = False
        self._logging = CriticalSection()
        self.positions: Mapping[str, Any] = {}
        """How far sources have been read: what transactions said of them, the last word on each."""
        self._state: State | None = None
        self.evolution: Evolution | None = None
        """What `program` changed."""
        if state is None and (readonly or checkpoint is not None):
            raise DelticError("readonly and checkpoint are about a state that is kept: name its directory with state=")
        if state is not None:
            self._open(state, Checkpoints.of(checkpoint), readonly, program)
        elif program is not None:
            self.evolution = self._evolve(program_of(program))

    def _open(self, place: str | Path, checkpoints: Checkpoints, readonly: bool, program: str | Path | None) -> None:
        """Take the state in a directory, and go on with it."""
        if self._engine_name == "reference":
            raise UnsupportedError(f"state {place}: the reference engine keeps none; leave out engine, or state")
        state = State.open(place, checkpoints, readonly)
        try:
            check_options(state, self._options)
            self._restore(state)
            state.begin()
            self._state = state
            if program is not None:
                self.evolution = self._become(program_of(program))
        except BaseException:
            state.close()
            raise

    def _become(self, definitions: Definitions) -> Evolution:
        """Have just these definitions; raises CatalogError where a table with rows is not among them."""
        difference = Difference.between(self.catalog, definitions.catalog)
        if definitions.history == self._definitions.history:
            return Evolution(difference, self.views, EpochResult(), self.spark)
        for name in difference.dropped:
            if name in self.tables and self._has_begun and self._engine.count(name):
                raise CatalogError(
                    f"table {name} holds rows, and the program does not declare it; declare it, or drop {name} first"
                )
        return self._evolve(definitions)

    @property
    def _options(self) -> dict[str, Any]:
        """What a state depends on."""
        return {"strategy": self._maintenance.strategy}

    def _restore(self, state: State) -> None:
        """Be as the pipeline was that wrote the state: what its last checkpoint has, and the log behind it."""
        if state.manifest is not None:
            self._definitions = Definitions().replayed(state.manifest.definitions)
            circuit, self._pushed = asked(self.catalog, self._rewrites)
            self._engine = new_engine(self._engine_name, circuit, self._maintenance, self._resources, self._rewrites)
            if (saved := state.saved()) is not None:
                self._engine.restore(saved)
        for record in state.records():
            if record.tables is None:
                self._evolve(self._definitions.replayed(record.edits))
            else:
                self._engine.prepare(record.batches, record.conflicts, record.token).commit()
            state.check_epoch(record, self._engine.epoch)
        self.positions = dict(state.positions)

    def checkpoint(self) -> None:
        """Write the state, so that the next start has no log to read. Raises StateError, and the log stays then."""
        self._writable("checkpoint").checkpoint(self._moment())

    def close(self) -> None:
        """Write what the last checkpoint has not, and let go of the directory; without one there is nothing to do.

        Raises StateError where it cannot be written; the log has it then, and the directory is free.
        """
        state, self._state = self._state, None
        if state is None:
            return
        self._closed = True
        try:
            if not state.readonly and not state.is_current:
                state.checkpoint(self._moment(state))
        finally:
            state.close()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _writable(self, what: str) -> State:
        """The state, to be written to; raises DelticError where there is none."""
        if self._state is None:
            raise DelticError(f"{what}: the pipeline keeps no state; open it with state=DIRECTORY")
        if self._state.readonly:
            raise DelticError(f"{what}: the state was opened with readonly=True; open it for writing")
        return self._state

    def _moment(self, state: State | None = None) -> Moment:
        """What a checkpoint is to hold now."""
        sequence, engine = (state or self._writable("checkpoint")).sequence, self._engine
        image = engine.capture() if self._has_begun else None
        told = dict(self.positions), self._options, self._definitions.history
        return Moment(sequence, engine.epoch, engine.token, *told, image)

    def datalog(self, text: str, file: str = "<datalog>") -> Evolution:
        """Add a Datalog program: its declarations, rules and facts join those that are there.

        `file` is what messages call the text. Rules may read every table and view of the pipeline. Raises ProgramError
        with all findings, and the pipeline stays as it was. Where tables hold rows already, what is new is computed
        from them, and nothing else is: the evolution that is returned says what that was.
        """
        return self._evolve(self._definitions.adding(parse(text, file)))

    def sql(self, text: str, file: str = "<sql>") -> Evolution | Transaction | Rows:
        """One or several statements of SQL, with `;` between them; docs/sql.md tells which there are.

        What the last one gives is returned: the Evolution of definitions, the Transaction of a change of a table, the
        Rows of a question. The whole text is checked before anything is done. Definitions that follow each other are
        one evolution, a change of a table is one epoch. `file` is what messages call the text. Raises ProgramError.
        """
        nothing = Evolution(Difference(), self.views, EpochResult(), self.spark)
        return next(iter(deque(self.sql_results(text, file), maxlen=1)), nothing)

    def sql_results(self, text: str, file: str = "<sql>") -> Iterator[Evolution | Transaction | Rows]:
        """As `sql`: what each statement gives, or definitions that follow each other together, once it is done."""
        from deltic.pipeline.sql import planned
        from deltic.sql.statements.parse import parse as parse_sql

        steps = list(planned(parse_sql(text, file), self._definitions))
        return map(self._take, steps)

    def replace(self, text: str, file: str = "<datalog>") -> Evolution:
        """As `datalog`, but the text takes the place of what there is about the relations that it derives.

        Their earlier facts and rules go; so do the declaration and the directives of those that it declares.
        """
        return self._evolve(self._definitions.replacing(parse(text, file)))

    def table(self, name: str, columns: Any, key: str | Sequence[str] = (), bag: bool = False) -> Evolution:
        """Add a table: `pipeline.table("sale", {"id": "int64", "shop": "string", "price": "float64?"}, key="id")`.

        `columns` maps names to types: texts such as "decimal(10, 2)" or "array(string?)", with a question mark where
        a value may be NULL, Python classes, or types of Arrow and of `deltic.circuit.types`; an Arrow schema does as
        well. A table is a set of rows, or with `bag` a bag, where a row may be there several times. `key` are
        the columns that tell rows apart: they are never NULL, the table is a set, and a transaction after which two
        rows would agree in them is rejected with a ChangeError. Raises CatalogError.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        table = Table(name, schema_of(name, columns), keys, bag)
        return self._evolve(self._definitions.with_table(table))

    def view(self, name: str, circuit: Circuit | str, hidden: bool = False, replace: bool = False) -> Evolution:
        """Add a view that a circuit computes, or its text; the circuit's sources are tables and views by name.

        The view is the sink of that name, or the one that there is. A `hidden` one is there for other definitions:
        nobody reads it, and what nobody needs of it is not computed. With `replace` it takes the place of the view
        of that name, however that was defined. Raises CatalogError, and for a text ProgramError.
        """
        definition = view_definition(name, circuit, hidden)
        if replace:
            find(name, "view", self.catalog.views, dict.fromkeys(self.catalog.tables, "it is a table"))
        return self._evolve(self._definitions.with_view(definition, replace))

    def drop(self, *names: str) -> Evolution:
        """Drop tables, with their rows, and views. Raises CatalogError where others read them."""
        for name in names:
            find(name, "view or table", {**self.catalog.relations, **dict.fromkeys(self.checked.inlined)})
        return self._evolve(self._definitions.dropping(names))

    def transaction(
        self, conflicts: Conflicts | None = None, token: str = "", positions: Mapping[str, Any] | None = None
    ) -> Transaction:
        """A transaction, for a with-block: all changes made in it are one epoch, or none takes effect.

        `conflicts` overrides that of the pipeline. `positions` say how far sources have been read, by their names, in
        anything that JSON can hold; they are part of the epoch, and so is a `token`.
        """
        self._refuse_closed()
        self._refuse_inside_transaction("transactions do not nest")
        if not self._has_begun:
            self._maintenance.check(self.catalog)
        chosen = conflicts or self.conflicts
        check_choice(chosen, "policy for conflicts", get_args(Conflicts))

        def prepare(batches: Batches) -> Prepared:
            epoch = self._prepare(batches, chosen, token, positions or {})
            if chosen != "trust":
                try:
                    check_keys(self.catalog.tables, batches, self._engine)
                except BaseException:
                    epoch.abort()
                    raise
            return epoch

        self._transaction = Transaction(self.tables, self.views, prepare, self._changes_of, self._close, self.spark)
        return self._transaction

    def __getitem__(self, name: str) -> View:
        """A view or table by name; raises DelticError with the nearest name when there is none."""
        return View(name, self._readable(name), lambda: self._engine_with(name), self.spark)

    def __contains__(self, name: object) -> bool:
        """Whether there is a table or view of that name that can be read."""
        return name in self._schemas

    def __iter__(self) -> Iterator[str]:
        """The names of the tables and views that can be read."""
        return iter(self._schemas)

    def __len__(self) -> int:
        """How many tables and views there are."""
        return len(self._schemas)

    def explain(self, name: str, full: bool = False) -> str:
        """How a view is kept fresh: what its parts cost and keep, and its delta queries.

        `full`: also its circuit before and after, why that is right, and the plan of each delta query.
        """
        self._check_view(name)
        told = self._engine.explain(name, full)
        lines = [f"  {line}" for line in self._demand_below(name)]
        return "\n".join([told, "", "derived on demand:", *lines]) if lines else told

    def _demand_below(self, name: str) -> Iterator[str]:
        """What is derived on demand of the recursions that a view depends on, and what is not though it is declared."""
        inside = operators_inside(self.catalog.circuit.part(name))
        below = {operator.name for operator in inside if isinstance(operator, Feedback)}
        yield from (str(pushed) for pushed in self._pushed if pushed.relation in below)
        pushed = {each.relation for each in self._pushed}
        whole = [v.name for v in self.catalog.views.values() if v.demand is True and v.name in below - pushed]
        reason = "some rule asks for all of it, or for what no rule of it hands on"
        yield from (f"{view}: all rows, though it is `magic`: {reason}" for view in whole if self._rewrites.demand)

    def circuit(self, name: str | None = None) -> Circuit:
        """The circuit of one view, or of all views together."""
        if name is None:
            return self.catalog.circuit
        self._check_view(name)
        return self.catalog.circuit.part(name)

    @property
    def catalog(self) -> Catalog:
        """All tables and views with their definitions, hidden views too."""
        return self._definitions.catalog

    @property
    def checked(self) -> CheckedProgram:
        """The Datalog programs, checked together: relations, rules and directives."""
        return self._definitions.checked

    @property
    def tables(self) -> dict[str, Schema]:
        """The tables and their columns."""
        return {name: table.schema for name, table in self.catalog.tables.items()}

    @property
    def views(self) -> dict[str, Schema]:
        """The views and their columns; hidden ones are left out."""
        return {name: view.schema for name, view in self.catalog.views.items() if not view.is_hidden}

    @property
    def _schemas(self) -> dict[str, Schema]:
        """The columns of what can be read."""
        return {**self.tables, **self.views}

    def _readable(self, name: str) -> Schema:
        """The columns of a view or table; raises DelticError when there is none, or it is hidden."""
        return find(name, "view or table", self._schemas, self._unreadable)

    @property
    def _unreadable(self) -> dict[str, str]:
        """Why relations that are there cannot be read."""
        return {**dict.fromkeys(self.checked.inlined, _INLINED), **dict.fromkeys(self.catalog.views, _HIDDEN)}

    def _check_view(self, name: str) -> None:
        find(name, "view", self.views, {**self._unreadable, **dict.fromkeys(self.tables, "it is a table")})

    def _engine_with(self, name: str) -> Engine:
        """The engine, to read a relation from, which may have been dropped since."""
        self._readable(name)
        return self._current_engine()

    @property
    def _has_begun(self) -> bool:
        """Whether there was an epoch."""
        return self._engine.epoch > 0

    def _current_engine(self) -> Engine:
        """The engine, to be read from; what facts alone give is derived before the first transaction."""
        if not self._has_begun:
            self._maintenance.check(self.catalog)
            with self._prepare({}, "error", "", {}) as epoch:
                epoch.commit()
        return self._engine

    def _prepare(self, batches: Batches, conflicts: Conflicts, token: str, positions: Mapping[str, Any]) -> Prepared:
        """An epoch that is written to the log before it is committed; a checkpoint that is due is begun first."""
        state = self._state if self._state is not None and not self._state.readonly else None
        if state is not None and state.is_due:
            state.begin_checkpoint(self._moment())
        epoch = self._engine.prepare(batches, conflicts, token)

        def step() -> None:
            if state is not None:
                tables = {name: batch.to_arrow() for name, batch in batches.items()}
                state.write(Record(state.sequence + 1, epoch.number, token, conflicts, positions, tables))
            self.positions = {**self.positions, **positions}

        epoch.before_commit(step, self._logging)
        return epoch

    def _refuse_closed(self) -> None:
        if self._closed:
            raise DelticError("the pipeline is closed: open its state with another one")
        if self._state is not None:
            self._writable("a change")

    def _take(self, step: Step) -> Evolution | Transaction | Rows:
        """Do one step of a text of SQL."""
        from deltic.pipeline.answers import Told, arranged
        from deltic.pipeline.sql import ANSWER, Explained, Query
        from deltic.sql.statements.effects import Effect

        if isinstance(step, Definitions):
            return self._evolve(step)
        if isinstance(step, Effect):
            with self.transaction() as change:
                for batch in self._batches_of(step):
                    change.append(step.table, batch)
            return change
        if isinstance(step, Query):
            answer = self._evaluated([step.definition]).read(ANSWER)
            return Rows(TableBatch(arranged(answer, step.order, step.names)), self.spark)
        if isinstance(step, Explained):
            return Told("plan", self._explained(step))
        return step

    def _explained(self, asked: Explained) -> str:
        """How a view, or a query as one, is kept fresh."""
        from deltic.pipeline.evaluation import circuit_of
        from deltic.pipeline.sql import ANSWER

        if isinstance(asked.subject, str):
            return self.explain(asked.subject, asked.extended)
        return self._throwaway(circuit_of([asked.subject])).explain(ANSWER, asked.extended)

    def _changes_of(self, text: str, file: str) -> Iterator[tuple[str, pa.Table]]:
        """What statements of SQL change in tables."""
        from deltic.pipeline.sql import effects
        from deltic.sql.statements.parse import parse as parse_sql

        for effect in list(effects(parse_sql(text, file), self.catalog)):
            for batch in self._batches_of(effect):
                yield effect.table, batch

    def _batches_of(self, effect: Effect) -> list[pa.Table]:
        """The rows that go and come by a statement."""
        from deltic.pipeline.evaluation import batches_of

        engine = self._evaluated(effect.definitions)
        return batches_of(effect, self.catalog.tables[effect.table], lambda name: engine.read(name, counted=True))

    def _evaluated(self, definitions: Sequence[Definition]) -> Engine:
        """An engine with the views of definitions over what there is now."""
        from deltic.pipeline.evaluation import evaluated

        return evaluated(definitions, self._throwaway, lambda name: self._current_engine().read(name, counted=True))

    def _throwaway(self, circuit: Circuit) -> Engine:
        """An engine for one answer."""
        return new_engine(self._engine_name, circuit, self._maintenance.of_any, self._resources, self._rewrites)

    def _evolve(self, definitions: Definitions) -> Evolution:
        """Go on with other definitions; after any exception the pipeline is as it was."""
        self._refuse_closed()
        self._refuse_inside_transaction("definitions are changed before or after it")
        difference = Difference.between(self.catalog, definitions.catalog)
        result = EpochResult()
        circuit, pushed = asked(definitions.catalog, self._rewrites)
        before = copy(self._engine)
        if self._has_begun:
            self._maintenance.check(definitions.catalog)
            self._refuse_lost_rows(definitions.catalog, difference)
            result = self._engine.extend(circuit)
        else:
            self._engine = new_engine(self._engine_name, circuit, self._maintenance, self._resources, self._rewrites)
        with self._logging:
            try:
                self._log(definitions)
            except BaseException:
                self._engine = before
                raise
            self._definitions, self._pushed = definitions, pushed
        return Evolution(difference, self.views, result, self.spark)

    def _log(self, definitions: Definitions) -> None:
        """Write to the log that definitions are others from this epoch on."""
        edits = definitions.since(self._definitions)
        if self._state is not None and edits:
            self._state.write(Record(self._state.sequence + 1, self._engine.epoch, edits=edits))

    def _refuse_lost_rows(self, catalog: Catalog, difference: Difference) -> None:
        """Raises DelticError where a table that holds rows would be no table any more, or have other columns."""
        for name in difference.replaced:
            if name not in self.tables or not len(self._engine.read(name, table=True)):
                continue
            if name not in catalog.tables:
                raise CatalogError(
                    f"{name} is a table and holds rows; the program's rules would make it a view without them. "
                    f"Add `.input {name}` to the program, so that it is both"
                )
            if catalog.tables[name] != self.catalog.tables[name]:
                raise CatalogError(
                    f"{name} is a table and holds rows, and {catalog.tables[name]} could not hold them; "
                    f"drop {name} first"
                )

    def _close(self) -> None:
        self._transaction = None

    def _refuse_inside_transaction(self, remedy: str) -> None:
        if self._transaction is not None and self._transaction.is_open:
            raise DelticError(f"a transaction is open: {remedy}")
