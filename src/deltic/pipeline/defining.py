"""Methods of a pipeline that change definitions: programs, tables, views, functions, sources, publications."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from deltic.catalog import CatalogTable, External
from deltic.catalog.lateness import ColumnStorage, Lateness
from deltic.circuit.graph import Circuit
from deltic.errors import CatalogError, DelticError, ProgramWarning
from deltic.pipeline.definitions.altering import adding_columns, altering, how_of
from deltic.pipeline.definitions.beginning import columns_of, rows_of
from deltic.pipeline.definitions.front_end import SourceOptions
from deltic.pipeline.definitions.programs import with_program
from deltic.pipeline.definitions.view import view_definition
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.io.rounding import RoundedValues
from deltic.pipeline.names import find, require_text
from deltic.pipeline.spark.spark import is_dataframe, quoted
from deltic.pipeline.watching import Watching
from deltic.values.types import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltic.circuit.custom import OfPython
    from deltic.circuit.python import Nulls
    from deltic.pipeline.python.flow import Flow
    from deltic.pipeline.refreshing import Refresher, RefreshReport


class Defining(Watching):
    """Adds, replaces and drops tables, views and functions, and returns an Evolution that lists the changes.

    Attaches sources to tables and refreshes these, and publishes views.
    """

    def datalog(
        self, text: str, file: str = "<datalog>", macros: Mapping[str, str] = MappingProxyType({})
    ) -> Evolution:
        """Add a Datalog program: its declarations, rules and facts.

        `file` is the name of the text in messages; included files are searched beside it. `macros` act as lines
        `#define NAME text`. Rules may read every table and view of the pipeline. Returns the Evolution: new views are
        computed from the present rows; other views stay. Raises ProgramError with all findings, and changes nothing;
        warns with ProgramWarning.
        """
        require_text(text)
        return self._warned(self._evolving.evolve(lambda now: now.adding(text, file, macros)))

    def replace(
        self, text: str, file: str = "<datalog>", macros: Mapping[str, str] = MappingProxyType({})
    ) -> Evolution:
        """As `datalog`, but the text replaces the rules and facts of the relations that it derives.

        It also replaces the declarations and directives of the relations that it declares.
        """
        require_text(text)
        return self._warned(self._evolving.evolve(lambda now: now.replacing(text, file, macros)))

    def _warned(self, evolution: Evolution) -> Evolution:
        """Return the evolution, and raise each warning of its programs once as a Python warning."""
        for finding in self.checked.warnings:
            warnings.warn(finding.render(), ProgramWarning, stacklevel=3)
        return evolution

    def define(self, text: str, language: str, file: str = "", directories: Sequence[str | Path] = ()) -> Evolution:
        """Add a program in the language of any front end: "sql", "datalog", or that of a package.

        Imported files are searched beside `file`, then in `directories`. Raises ProgramError, and DelticError where the
        front end is not installed; the pipeline is unchanged then.
        """
        require_text(text)
        options = SourceOptions(directories=tuple(map(str, directories)))
        return self._evolving.evolve(lambda now: with_program(now, text, file or f"<{language}>", language, options))

    def redefine(
        self,
        program: str | Path,
        macros: Mapping[str, str] = MappingProxyType({}),
        language: str = "",
        directories: Sequence[str | Path] = (),
    ) -> Evolution:
        """Replace all definitions by those of a program, a file or text, in SQL, Datalog, or another language.

        `language` defaults to the suffix of the file. `macros` are for Datalog; imported files are searched in
        `directories`. Definitions in common stay. Raises ProgramError, DataError for a file that is not text, and
        CatalogError where a table that holds rows would go.
        """
        return self._evolving.redefine(program, SourceOptions(macros, tuple(map(str, directories))), language)

    def table(
        self,
        name: str,
        columns: Any = None,
        key: str | Sequence[str] = (),
        bag: bool | None = None,
        lateness: Mapping[str, timedelta | int] | None = None,
        source: External | DataFrame | str | Path | None = None,
        coerce: bool = False,
    ) -> Evolution:
        """Add a table: `pipeline.table("sale", {"id": "int64", "shop": "string", "price": "float64?"}, key="id")`.

        `columns` maps names to types: texts such as "decimal(10, 2)" or "array(string?)", with a question mark for
        nullable ones, SQL's names such as "BIGINT" and "VARCHAR(20)", Python classes, or types of Arrow and of
        `deltic.values.types`; or it is an Arrow schema. Or it is rows, and the table begins with them:
        `pipeline.table("sale", frame, key="id")` takes frames of pandas, polars, Arrow and Spark, objects with Arrow's
        stream interface, dicts, dataclasses, named tuples, and paths of .csv, .tsv, .parquet, .arrow and .jsonl files;
        the first line of text names the columns. All columns but those of the key are then nullable.

        A table is a set of rows, or with `bag` a bag, which may hold a row several times. `key` names the columns that
        identify a row: they are never NULL, and a transaction after which two rows would agree in them is rejected with
        a ChangeError. With `lateness={"ts": timedelta(hours=1)}` a change is late if its `ts` is more than an hour
        before the greatest of earlier transactions; see docs/sql.md.

        With a `source` the table has its rows: an External, a Spark DataFrame, or the path of a folder of files or of a
        Delta table; see docs/refresh.md. `refresh` reads it again. Its columns are the default. Without a key, a table
        that starts with rows or a source is a bag. With `coerce`, values of the rows or the source that do not fit are
        rounded, and counted: by the Evolution in `rounded`, by a refresh in `report.sources`. Raises CatalogError, and
        DataError where the rows do not fit; the table is not made then.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        place, frame = (None, None) if source is None else self._refreshing.place_of(source)
        if coerce and place is not None:
            place = place.with_option("coerce", True)
        elif coerce and columns_of(name, columns) is not None:
            raise CatalogError(f"table {name}: coerce is about rows or a source, and there are none")
        rows, storing = None, tuple[ColumnStorage, ...]()
        if columns is None and place is not None:
            schema = self._refreshing.columns(place, frame, keys)
        elif (beginning := columns_of(name, columns)) is not None:
            schema, storing = beginning
        else:
            schema, rows = rows_of(name, columns, keys)
        is_bag = not keys and (place is not None or rows is not None) if bag is None else bag
        late = Lateness.of(name, schema, lateness)
        table = CatalogTable(name, schema, keys, is_bag, lateness=late, storing=storing, source=place)
        evolution = self._evolving.evolve(lambda now: now.with_table(table))
        if frame is not None:
            self._refreshing.give(name, frame)
        if rows is not None:
            evolution.rounded = self._begin(name, rows, coerce)
        return evolution

    def _begin(self, name: str, rows: Any, coerce: bool) -> Mapping[str, RoundedValues]:
        """Insert the first rows of a new table, and return the rounded values; drop the table where they do not fit."""
        try:
            with self.transaction() as change:
                change.insert(name, rows, coerce)
            return change.report.rounded
        except BaseException:
            self.drop(name)
            raise

    def alter(
        self,
        table: str,
        *,
        add: Mapping[str, Any] = MappingProxyType({}),
        drop: str | Sequence[str] = (),
        rename: Mapping[str, str] = MappingProxyType({}),
        types: Mapping[str, Any] = MappingProxyType({}),
        nullable: Mapping[str, bool] = MappingProxyType({}),
        defaults: Mapping[str, Any] = MappingProxyType({}),
        key: str | Sequence[str] | None = None,
        to: str = "",
    ) -> Evolution:
        """Alter a table; its rows stay: `pipeline.alter("sale", add={"n": "int64"}, defaults={"n": 1}, drop="shop")`.

        In this order columns are dropped, renamed, widened (`types`), made nullable or not, and added; each step uses
        the names after the one before. `defaults` are what SQL stores for missing values, and what present rows get in
        added columns. `key` is a new primary key, () for none; `to` is a new name. Raises CatalogError where rows, or
        views that name a column, do not allow it; nothing is changed then.
        """
        find(table, "table", self.tables)
        how = how_of(add, drop, rename, types, nullable, defaults, key, to)
        return self._evolving.evolve(lambda now: altering(now, table, how))

    def flow(self, name: str) -> Flow:
        """Return a table or view as the start of a flow, for `view`: see docs/streams.md and docs/extending.md."""
        from deltic.pipeline.python.flow import Flow

        return Flow.of(name, find(name, "view or table", self.catalog.relations))

    def view(
        self, name: str, circuit: Circuit | Flow | DataFrame | str, hidden: bool = False, replace: bool = False
    ) -> Evolution:
        """Add a view: a flow, a circuit, or the text of one, over tables and views by name.

        Also a DataFrame of Spark over `pipeline["NAME"].to_spark()` and tables and views by name; see docs/spark.md.

        The view is the sink of that name, or the only one. A `hidden` view serves other definitions:
        you cannot read it, and Deltic computes only what they need. With `replace` it takes the place
        of the view of that name, however that was defined. Raises CatalogError, and for a text ProgramError.
        """
        if is_dataframe(circuit):
            return self._view_of_frame(name, circuit, hidden, replace)
        definition = view_definition(name, cast("Circuit | Flow | str", circuit), hidden)
        if replace:
            find(name, "view", self.catalog.views, dict.fromkeys(self.catalog.tables, "it is a table"))
        return self._evolving.evolve(lambda now: now.with_view(definition, replace))

    def _view_of_frame(self, name: str, frame: Any, hidden: bool, replace: bool) -> Evolution:
        from deltic.pipeline.spark.plans import query_of

        if hidden:
            raise CatalogError(f"view {name}: a DataFrame makes a view that is read; `hidden` is for circuits")
        if name in self.catalog.views and not replace:
            raise CatalogError(f"there is a view {name} already; choose another name, or pass replace=True")
        query = query_of(frame, name, self._schemas)
        return self.define(f"CREATE {'OR REPLACE ' * replace}VIEW {quoted(name)} AS {query}", "sql", f"<{name}>")

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
        """Add a function of Python, or one made by `deltic.function`, for SQL and Datalog.

        Also aggregates and operators of `deltic.aggregate` and `deltic.operator`: see docs/extending.md.

        `arguments` and `returns` are types as in `table`, "int64?" for a nullable result; by default the annotations.
        The function receives the values of one row; if `vectorized`, Arrow arrays of any number of rows, and returns
        one. A NULL argument gives NULL without a call; with `nulls="pass"` the function receives None. It must be
        `deterministic`: Deltic computes it again for deleted rows. A function of the same name replaces it; the views
        that call it are rebuilt if its code, constants, closure, or a called function of its module differs. A stored
        state contains no code: pass `functions` to the pipeline that opens it. Raises CatalogError.
        """
        from deltic.circuit.custom import OfPython
        from deltic.pipeline.python.functions import function

        if isinstance(name, str):
            kept = {"arguments": arguments, "returns": returns, "vectorized": vectorized, "nulls": nulls}
            result = function(body, name=name, deterministic=deterministic, **kept)
        elif isinstance(name, OfPython):
            result = name
        else:
            raise CatalogError(f"{name!r} has no name for SQL and Datalog: write function(name, body, …)")
        return self._evolving.evolve(lambda now: now.with_function(result))

    def drop(self, *names: str) -> Evolution:
        """Drop tables with their rows, and views. Raises CatalogError where others read them."""
        for name in names:
            find(name, "view or table", {**self.catalog.relations, **dict.fromkeys(self.checked.inlined)})
        return self._evolving.evolve(lambda now: now.dropping(names))

    @cached_property
    def _refreshing(self) -> Refresher:
        """Refreshes tables from their sources, and publishes views."""
        from deltic.pipeline.connectors.tasks import Tasks
        from deltic.pipeline.refreshing import Refresher

        tasks = Tasks(self.spark, self._epochs.site, self._epochs.compared)
        return Refresher(self, lambda: self._keeping.files, tasks, self._add_columns)

    def _add_columns(self, table: str, columns: Sequence[Column]) -> None:
        """Add columns to a table because its source has them."""
        self._evolving.evolve(lambda now: adding_columns(now, table, columns))

    def attach(self, name: str, source: External | DataFrame | str | Path) -> None:
        """Give a table another source from the next refresh on; the difference is inserted and deleted.

        A DataFrame must be attached again in each process. Raises CatalogError.
        """
        find(name, "table", self.tables)
        place, frame = self._refreshing.place_of(source)
        if self.sources.get(name) != place:
            self._evolving.evolve(lambda now: now.attaching(name, place))
        self._refreshing.give(name, frame)

    def detach(self, name: str) -> None:
        """Give a table back the source of its definition, or none; its rows stay.

        Raises CatalogError where none was attached.
        """
        find(name, "table", self.tables)
        if name not in self.attached:
            raise CatalogError(f"{name} has no source that was attached to it")
        self._evolving.evolve(lambda now: now.attaching(name, None))
        self._refreshing.give(name, None)

    @property
    def attached(self) -> Mapping[str, External]:
        """The sources that `attach` gave to tables, by table; sources of definitions are not included."""
        return self._definitions.attached

    def refresh(self, full: bool = False, tables: Iterable[str] | None = None) -> RefreshReport:
        """Read the new rows of all sources, or of those of the named tables, in one epoch; publish views.

        A source reads what is new since the last refresh, as far as it can tell; `full` reads and compares all rows.
        The positions of the sources are part of the epoch, so that a refresh after a crash continues after it.

        A source that fails is left out: its table stays as it is, and the report's `failed` says why. The next refresh
        tries it again; from the second failure in a row on it waits one minute, two, four, up to an hour, unless you
        name the table. Where all sources fail, the first error is raised and all tables stay as they are: DataError
        where rows do not fit their table, ChangeError where they conflict, CatalogError where columns are missing.
        """
        self._keeping.refuse_change()
        return self._refreshing.refresh(full, None if tables is None else list(tables))

    def publish(self, view: str, to: External | str | Path) -> None:
        """Publish a view with each refresh from now on; part of the state.

        `to` is an External: a Delta table, a table of a database, a temporary view of Spark, a folder of Parquet files;
        or the path of such a folder. Raises CatalogError for an impossible target, and DelticError where a path has
        files of something else.
        """
        self._check_view(view)
        publication = self._refreshing.publication(view, to)
        if not self._definitions.published(view, publication.to):
            self._refreshing.check_free(publication)
            self._evolving.evolve(lambda now: now.publishing(publication))

    def unpublish(self, view: str, to: External | str | Path | None = None) -> None:
        """Stop publishing a view, to one target or to all. What was published stays. Raises DelticError."""
        place = None if to is None else self._refreshing.publication(view, to).to
        if not self._definitions.published(view, place):
            raise DelticError(f"{view} is not published{'' if place is None else f' to {place}'}")
        self._evolving.evolve(lambda now: now.unpublishing(view, place))

    def pending(self, positions: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return what the next `refresh` would read of each source, without reading it.

        With the `positions` of another pipeline of this program: what that pipeline would read.
        """
        return self._refreshing.pending(positions)
