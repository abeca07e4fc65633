"""Statements of SQL as they are parsed, before their names are resolved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, dataclass_transform

from sqlglot import exp

from deltic.catalog import CatalogTable
from deltic.catalog.altering import Alteration
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.errors import ProgramError
from deltic.sql.names import names_read
from deltic.sql.scalars.functions.written import SqlFunction, calls_of
from deltic.sql.text import SourceText, span_of
from deltic.sql.types import written
from deltic.values.types import Schema, Type

Kind = Literal["matched", "not matched", "not matched by source"]
Refresh = Literal["", "auto", "incremental", "incremental strict", "full"]


@dataclass_transform(frozen_default=True, eq_default=False)
@dataclass(frozen=True, eq=False)
class Statement:
    """The characters from offset `start` up to, but not, `end` of a text. Each subclass is such a dataclass, too."""

    source: SourceText
    start: int
    end: int

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)

    @property
    def text(self) -> str:
        """The statement as it was written."""
        return self.source.text[self.start : self.end]

    @property
    def in_place(self) -> str:
        """The statement as it was written, with as many lines and blanks before it as there were lines and letters."""
        before = self.source.text[: self.start]
        written = self.source.text[self.start : self.end]
        return "\n" * before.count("\n") + " " * len(before.rpartition("\n")[2]) + written

    def error(self, message: str, hint: str = "") -> ProgramError:
        """Return the error about the statement as a whole, shown at its first word."""
        first = self.start + len(self.text.split(None, 1)[0])
        return ProgramError([self.source.at(self.start, first, message, hint)])

    @property
    def place(self) -> str:
        """Where it was written: file, line, column."""
        return self.source.at(self.start, self.end, "").place


class CreateTable(Statement):
    """CREATE TABLE; a table that takes the columns of its source has none yet.

    `inside` is the offset in the text after the opening parenthesis, None where there is none.
    """

    name: exp.Identifier
    table: CatalogTable
    unless_there: bool
    inside: int | None = None
    kind: Literal["table"] = "table"

    @property
    def lacks_columns(self) -> bool:
        """Whether its columns are unknown yet."""
        return self.table.source is not None and not self.table.schema


class CreateTableAs(Statement):
    """CREATE TABLE … AS: a table of the columns of a query, and its rows inserted."""

    name: exp.Identifier
    query: exp.Expression
    unless_there: bool

    def declared(self, schema: Schema) -> str:
        """Return the table's declaration, as SQL has it."""
        columns = ", ".join(f"{_quoted(column.name)} {written(column.type)}" for column in schema)
        return f"CREATE TABLE {_quoted(self.name.name)} ({columns})"

    @property
    def inserted(self) -> Insert:
        """The insertion of the rows."""
        return Insert(self.source, self.start, self.end, self.name, (), self.query, False)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class CreateView(Statement):
    """CREATE VIEW; `columns` are the names that were given to them, none where the query's names count.

    `refresh` is "" where no policy was named: then it is the pipeline's.
    """

    name: exp.Identifier
    columns: tuple[exp.Identifier, ...]
    query: exp.Expression
    replaces: bool
    unless_there: bool
    refresh: Refresh
    kind: Literal["view"] = "view"

    @property
    def text(self) -> str:
        """The statement as it was written, or as it would be written for the name that ALTER VIEW has given."""
        place = span_of(self.name)
        if place is None or not self.start <= place[0] < self.end:
            return super().text
        head, tail = self.source.text[self.start : place[0]], self.source.text[place[1] : self.end]
        head = re.sub("^ALTER", "CREATE", head, flags=re.IGNORECASE)
        written = self.source.text[place[0] : place[1]]
        return f"{head}{written if written.strip('`') == self.name.name else _quoted(self.name.name)}{tail}"

    @property
    def policy(self) -> RefreshPolicy:
        """The refresh policy of its recursions; all that SQL has is incremental, so that STRICT refuses nothing."""
        return "incremental" if self.refresh == "incremental strict" else self.refresh

    @cached_property
    def read(self) -> tuple[exp.Table, ...]:
        """The relations that its query names, each time that it does."""
        return tuple(names_read(self.query))

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of functions that its query calls, in lower case."""
        return calls_of(self.query)

    def called(self, name: str) -> CreateView:
        """Return the view under another spelling of its name."""
        identifier = self.name.copy()
        identifier.set("this", name)
        return replace(self, name=identifier)


class DeclareView(Statement):
    """DECLARE RECURSIVE VIEW: the columns of a view that its own query, or one that it reads, may read."""

    name: exp.Identifier
    schema: Schema


class Drop(Statement):
    """DROP TABLE or VIEW; with `cascade` also the views that read it."""

    kind: Literal["table", "view"]
    name: exp.Identifier
    if_there: bool
    cascade: bool


class AlterTable(Statement):
    """ALTER TABLE; without alterations, as for properties and comments, it asks for nothing but the table."""

    name: exp.Identifier
    alterations: tuple[Alteration, ...]
    if_there: bool = False
    names: tuple[exp.Identifier, ...] = ()
    """All names after that of the table."""
    kind: Literal["table"] = "table"

    def place_of(self, column: str) -> exp.Identifier:
        """Return where a column is named; where none is, the name of the table."""
        return next((name for name in self.names if name.name.lower() == column.lower()), self.name)


class AlterView(Statement):
    """ALTER VIEW … RENAME TO, AS a query, or neither, as for properties and comments."""

    name: exp.Identifier
    to: exp.Identifier | None = None
    query: exp.Expression | None = None
    kind: Literal["view"] = "view"

    def defined(self, name: str, views: Sequence[CreateView]) -> CreateView:
        """Return the view of that name with its new query, and the refresh policy that it has among these views."""
        assert self.query is not None
        refresh: Refresh = next((view.refresh for view in views if view.name.name == name), "")
        view = CreateView(self.source, self.start, self.end, self.name, (), self.query, True, False, refresh)
        return view.called(name)


class CreateFunction(Statement):
    """CREATE FUNCTION."""

    name: exp.Identifier
    function: SqlFunction
    replaces: bool
    unless_there: bool


class DropFunction(Statement):
    """DROP FUNCTION."""

    name: exp.Identifier
    if_there: bool


Altering = AlterTable | AlterView
Defining = CreateTable | CreateView | DeclareView | CreateFunction | Drop | DropFunction | Altering


class Insert(Statement):
    """INSERT INTO, or with `overwrites` INSERT OVERWRITE; no columns stand for all, or `by_name` for the query's."""

    table: exp.Identifier
    columns: tuple[exp.Identifier, ...]
    query: exp.Expression
    overwrites: bool
    conflict: OnConflict | None = None
    by_name: bool = False


@dataclass(frozen=True, eq=False)
class OnConflict:
    """What becomes of a row whose key is there: the row that has it is updated, or with None nothing is done.

    `key` are the columns that were named, none where that was left out.
    """

    place: exp.Expression
    key: tuple[exp.Identifier, ...]
    assignments: tuple[Assignment, ...] | None
    condition: exp.Expression | None


class Delete(Statement):
    """DELETE FROM, or TRUNCATE TABLE; no condition stands for all rows."""

    table: exp.Identifier
    alias: exp.Identifier | None
    condition: exp.Expression | None


@dataclass(frozen=True, eq=False)
class Assignment:
    """A column and its new value; of a name of several `parts` the first may be the table's, others are fields."""

    column: exp.Identifier
    value: exp.Expression
    parts: tuple[exp.Identifier, ...] = ()


class Update(Statement):
    """UPDATE … SET …; no condition stands for all rows."""

    table: exp.Identifier
    alias: exp.Identifier | None
    assignments: tuple[Assignment, ...]
    condition: exp.Expression | None


@dataclass(frozen=True, eq=False)
class MergeClause:
    """One clause of MERGE: for which pairs or single rows it is, and what it does.

    `assignments` are those of UPDATE and INSERT, None for `*`, where each column has the source's value of that name.
    """

    kind: Kind
    condition: exp.Expression | None
    action: Literal["update", "delete", "insert"]
    assignments: tuple[Assignment, ...] | None
    place: exp.Expression | None


class Merge(Statement):
    """MERGE INTO; `using` is a table or a query in parentheses, with the name by which the conditions know it."""

    table: exp.Identifier
    alias: exp.Identifier | None
    using: exp.Expression
    condition: exp.Expression
    whens: tuple[MergeClause, ...]


Change = Insert | Delete | Update | Merge


class Select(Statement):
    """A query: SELECT, WITH, FROM, VALUES, TABLE, or several of them with UNION and the like."""

    query: exp.Expression


class Explain(Statement):
    """EXPLAIN of a view by its name, an Identifier, or of a query: of how it is kept fresh, or of the query's rows."""

    subject: exp.Expression
    extended: bool
    of_rows: Literal["", "why", "why not", "lineage"] = ""


class Show(Statement):
    """SHOW of relations and others whose names fit the pattern; COLUMNS, TBLPROPERTIES, CREATE TABLE of a relation."""

    what: Literal["tables", "views", "functions", "columns", "create", "properties", "schemas", "catalogs", "namespace"]
    name: exp.Identifier | None = None
    pattern: str = "*"


class Describe(Statement):
    """DESCRIBE of a relation, a column of one, a function, or a query."""

    subject: exp.Expression
    extended: bool = False
    is_function: bool = False
    column: exp.Identifier | None = None


Question = Select | Explain | Show | Describe


class TransactionBracket(Statement):
    """BEGIN, COMMIT or ROLLBACK: the changes between them are one transaction."""

    word: Literal["begin", "commit", "rollback"]


class DeclareVariable(Statement):
    """DECLARE VARIABLE of one or several names; without a type it is that of the default, which is NULL if absent."""

    names: tuple[exp.Identifier, ...]
    type: Type | None
    default: exp.Expression
    replaces: bool


@dataclass(frozen=True, eq=False)
class VariableAssignment:
    """Variables and a query of as many columns with one row at most; None in its place stands for their defaults."""

    names: tuple[exp.Identifier, ...]
    query: exp.Expression | None


class SetVariable(Statement):
    """SET VARIABLE; each assignment sees the ones before it."""

    assignments: tuple[VariableAssignment, ...]


class DropVariable(Statement):
    """DROP TEMPORARY VARIABLE."""

    name: exp.Identifier
    if_there: bool


class Setting(Statement):
    """SET and RESET of settings, which have the values that Spark has by default: a key shows its value."""

    key: str
    value: str | None
    is_reset: bool


class ExecuteImmediate(Statement):
    """EXECUTE IMMEDIATE of a text, with values for its parameters; `into` are the variables of its answer's row."""

    statement: exp.Expression
    into: tuple[exp.Identifier, ...]
    using: tuple[tuple[str, exp.Expression], ...]
    """The names of parameters, "" for `?`, and their values."""


class UseSchema(Statement):
    """USE of the only schema."""

    name: exp.Identifier


OfSession = DeclareVariable | SetVariable | DropVariable | Setting | ExecuteImmediate | UseSchema
"""What is done when it is reached, since later statements depend on it."""
