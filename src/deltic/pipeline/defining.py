"""What changes the definitions of a pipeline: programs, tables, views, functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from deltic.catalog import CatalogTable, External
from deltic.catalog.lateness import Lateness
from deltic.catalog.storing import ColumnStorage
from deltic.circuit.graph import Circuit
from deltic.errors import CatalogError, ProgramWarning
from deltic.pipeline.connecting import Connecting
from deltic.pipeline.definitions.altering import altering, how_of
from deltic.pipeline.definitions.beginning import columns_of, rows_of
from deltic.pipeline.definitions.evolution import Evolution
from deltic.pipeline.definitions.front_end import SourceOptions
from deltic.pipeline.definitions.programs import with_program
from deltic.pipeline.definitions.view import view_definition
from deltic.pipeline.names import find, require_text
from deltic.pipeline.spark.spark import is_dataframe, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltic.circuit.custom import OfPython
    from deltic.circuit.python import Nulls
    from deltic.pipeline.python.flow import Flow


class Defining(Connecting):
    """Adds tables, views and functions, replaces and drops them; each says by an Evolution what changed."""

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
        require_text(text)
        return self._warned(self._evolving.evolve(lambda now: now.adding(text, file, macros)))

    def replace(
        self, text: str, file: str = "<datalog>", macros: Mapping[str, str] = MappingProxyType({})
    ) -> Evolution:
        """As `datalog`, but the text replaces the rules of the relations that it derives.

        Their earlier facts and rules go; so do the declaration and the directives of those that it declares.
        """
        require_text(text)
        return self._warned(self._evolving.evolve(lambda now: now.replacing(text, file, macros)))

    def _warned(self, evolution: Evolution) -> Evolution:
        """What became of definitions; of what is likely wrong in their programs Python's warnings tell, once each."""
        for finding in self.checked.warnings:
            warnings.warn(finding.render(), ProgramWarning, stacklevel=3)
        return evolution

    def define(self, text: str, language: str, file: str = "", directories: Sequence[str | Path] = ()) -> Evolution:
        """Add a program in the language of any front end, by its name: "sql", "datalog", or that of a package.

        Files that it imports are sought beside `file`, then in the directories. Raises ProgramError, and DelticError
        where the front end is not installed; the pipeline stays as it was.
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
        """Have just the definitions of a program, in a file or as text, in a language: SQL, Datalog, or another.

        The end of a file's name says which, if `language` does not. `macros` are for Datalog; `directories` have files
        that the program imports. What it has in common with the present definitions stays, what it has not goes. Raises
        ProgramError, DataError for a file that is not text, and CatalogError where a table that holds rows would go.
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
    ) -> Evolution:
        """Add a table: `pipeline.table("sale", {"id": "int64", "shop": "string", "price": "float64?"}, key="id")`.

        `columns` maps names to types: texts such as "decimal(10, 2)" or "array(string?)", with a question mark where
        a value may be NULL, SQL's names such as "BIGINT" and "VARCHAR(20)", Python classes, or types of Arrow and of
        `deltic.values.types`; an Arrow schema does as well. Or it is rows, and the table begins with them:
        `pipeline.table("sale", frame, key="id")` takes frames of pandas, polars, Arrow and Spark, what hands itself out
        as Arrow's stream, dicts, dataclasses, named tuples, and paths of .csv, .tsv, .parquet, .arrow and .jsonl files,
        whose first line names the columns where it is text. Columns have the types of the rows, and all but those of
        the key may be NULL.

        A table is a set of rows, or with `bag` a bag, where a row may be there several times. `key` are
        the columns that tell rows apart: they are never NULL, the table is a set, and a transaction after which two
        rows would agree in them is rejected with a ChangeError. With `lateness={"ts": timedelta(hours=1)}` a row that
        comes or goes is late where its `ts` is more than that behind the greatest of the transactions before;
        docs/sql.md describes each statement.

        With a `source` the table has the rows of that: an External, a Spark DataFrame, or the path of a folder of
        files or of a Delta table; docs/refresh.md has all kinds. `refresh` lets it follow them. Its columns are then
        those of the source, if they are not given. Without a key a table that has rows or a source from the start is a
        bag. Raises CatalogError, and DataError where the rows do not fit; there is no such table then.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        place, frame = (None, None) if source is None else self._refreshing.place_of(source)
        rows, storing = None, tuple[ColumnStorage, ...]()
        if columns is None and place is not None:
            schema = self._refreshing.columns(place, frame, keys)
        elif (told := columns_of(name, columns)) is not None:
            schema, storing = told
        else:
            schema, rows = rows_of(name, columns, keys)
        is_bag = not keys and (place is not None or rows is not None) if bag is None else bag
        late = Lateness.of(name, schema, lateness)
        table = CatalogTable(name, schema, keys, is_bag, lateness=late, storing=storing, source=place)
        evolution = self._evolving.evolve(lambda now: now.with_table(table))
        if frame is not None:
            self._refreshing.give(name, frame)
        if rows is not None:
            self._begin(name, rows)
        return evolution

    def _begin(self, name: str, rows: Any) -> None:
        """Let a new table have its first rows; where they do not fit it, it goes again."""
        try:
            with self.transaction() as change:
                change.insert(name, rows)
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
        """Alter a table, whose rows stay: `pipeline.alter("sale", add={"n": "int64"}, defaults={"n": 1}, drop="shop")`.

        Columns are dropped, renamed, have wider `types`, may be NULL or not, and are added, in this order; names are
        those that columns have by then. `defaults` are what SQL stores where nothing is given, and what rows that are
        there have in a column that is added. `key` is a new primary key, () for none, and `to` a new name. Raises
        CatalogError where rows, or views that name a column, stand against it; nothing is changed then.
        """
        find(table, "table", self.tables)
        how = how_of(add, drop, rename, types, nullable, defaults, key, to)
        return self._evolving.evolve(lambda now: altering(now, table, how))

    def flow(self, name: str) -> Flow:
        """A table or view to build others of in Python, with `view`: docs/streams.md and docs/extending.md show how."""
        from deltic.pipeline.python.flow import Flow

        return Flow.of(name, find(name, "view or table", self.catalog.relations))

    def view(
        self, name: str, circuit: Circuit | Flow | DataFrame | str, hidden: bool = False, replace: bool = False
    ) -> Evolution:
        """Add a view that a circuit computes, or its text, or a flow; their sources are tables and views by name.

        Or a DataFrame of Spark, made of `pipeline["NAME"].to_spark()` and of what Spark knows by the names of tables
        and views; docs/spark.md says what of Spark is taken.

        The view is the sink of that name, or the only one. A `hidden` view serves other definitions:
        it cannot be read, and what they do not need of it is not computed. With `replace` it takes the place
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
        """Add a function of Python, which SQL and Datalog call by its name, or what `deltic.function` has made.

        What `deltic.aggregate` and `deltic.operator` have made they call, too: docs/extending.md says how.

        `arguments` and `returns` are types as those of `table`, "int64?" where the result may be NULL; without them the
        annotations of the function count. It gets the values of one row; `vectorized`, Arrow arrays of as many rows as
        it pleases Deltic, and gives one. Where an argument is NULL the result is, and the function is not called; with
        `nulls="pass"` it gets None. It has to be `deterministic`: rows that go are found by computing it again. Another
        function of the same name takes its place, and the views that call it are rebuilt, if its code, constants,
        closure, or a function of its module that it calls, is another. A state in a directory has no code of Python in
        it: the pipeline that opens it is given the functions by `functions`. Raises CatalogError.
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
        """Drop tables, with their rows, and views. Raises CatalogError where others read them."""
        for name in names:
            find(name, "view or table", {**self.catalog.relations, **dict.fromkeys(self.checked.inlined)})
        return self._evolving.evolve(lambda now: now.dropping(names))
