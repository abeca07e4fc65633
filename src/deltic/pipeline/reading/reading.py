"""Tables and views by name, as of an epoch: what a pipeline has in common with what is read of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deltic.catalog import Catalog, ViewDefinitions
from deltic.datalog import CheckedProgram
from deltic.engine.batches import TableBatch
from deltic.engine.version import Between as Between
from deltic.engine.version import Version, has_ranges
from deltic.errors import DelticError, count_of
from deltic.html import table
from deltic.lazy import pa
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.io.values import problem
from deltic.pipeline.names import find
from deltic.pipeline.reading.reasons import Reasons, RowPattern
from deltic.pipeline.rows.rows import Rows, Tabular, without_weights
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltic.sql.statements.parameters import Args
    from deltic.why import Explanation, WhyNot

_TABLE = "it is a table; CREATE VIEW … AS SELECT * FROM … makes a view of it"
_HIDDEN = "it is hidden, only other views read it"
_INLINED = "it is inlined: its rules replace its atoms"


@dataclass(frozen=True)
class PublishedEpoch:
    """What any thread sees of an epoch: definitions, and the rows of what they define."""

    definitions: Definitions
    version: Version


class EpochSource(Protocol):
    """The epochs that readers see."""

    @property
    def last(self) -> PublishedEpoch:
        """The last epoch, without rows before the first: what displays show, which begin no epoch."""

    def present(self) -> PublishedEpoch:
        """Return the last epoch; the first one is computed if there is none."""

    def at(self, epoch: int) -> PublishedEpoch:
        """Return an earlier epoch; raises DelticError where it is not retained."""


class Reading(ABC):
    """A name gives a table or view to read; `in`, `list` and `len` are about these names."""

    spark: SparkSession | None
    _source: EpochSource

    @property
    def place(self) -> str | None:
        """Where the state is kept; None for memory."""
        return None

    @property
    def _definitions(self) -> Definitions:
        return self._source.last.definitions

    def _version(self) -> Version:
        return self._source.present().version

    def _reasons(self, through: bool = True, others: Sequence[ViewDefinitions] = ()) -> Reasons:
        """Explanations of the rows; `others` are definitions beside those of the catalog."""
        return Reasons(self._definitions, self._version(), lambda n: self._source.at(n).version, through, others)

    def __getitem__(self, name: str) -> View:
        """Return a view or table by name; raises DelticError with the nearest name when there is none."""
        return View(name, self._readable(name), self)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a table or view of that name that can be read."""
        return name in self._schemas

    def __iter__(self) -> Iterator[str]:
        """Return the names of the tables and views that can be read."""
        return iter(self._schemas)

    def __len__(self) -> int:
        """Return how many tables and views there are."""
        return len(self._schemas)

    @abstractmethod
    def query(self, text: str, args: Args | None = None, file: str = "<sql>") -> Rows:
        """Return the rows of a query: SELECT, SHOW, DESCRIBE or EXPLAIN WHY, over tables and views of one epoch.

        `args` are the values of parameters: a dict for `:name`, a list or tuple for `?`. `file` is the name of the text
        in messages. Raises ProgramError for mistakes, and for statements that are no query.
        """

    def duckdb(self, text: str, external_access: bool = False) -> Rows:
        """Return the result of a query in DuckDB's dialect, which DuckDB evaluates over Arrow.

        It sees all tables and views of one epoch, reads the columns that the query needs, and has all functions of
        DuckDB. With `external_access` it may read and write files and addresses. Raises DelticError with DuckDB's
        reason, and for a view with negative weights.
        """
        from deltic.pipeline.reading.queries import answer

        version = self._version()

        def read(name: str, columns: Sequence[str]) -> pa.Table:
            return without_weights(version.read(name, columns=columns), name)

        rows = answer(text, self._schemas, read, external_access)
        return Rows(TableBatch(rows), self.spark)

    def why(
        self, name: str, row: RowPattern, *, depth: int | None = None, budget: int = 100_000, through: bool = True
    ) -> Explanation:
        """Return why a row is present: the rule that derives it and its premises, down to rows of tables.

        `row` has the values of all columns, or is a dict of some, for the first row with them. The explanation has the
        least height by the iterations of recursions. `depth` bounds its height, `budget` the number of rows that are
        explained; without `through` it ends at other views. Nothing is stored for it: it searches the state. Raises
        DelticError where no such row is present, UnsupportedError for an operator without explanations.
        """
        schema = self._readable(name)
        return self._reasons(through).why(name, schema, row, depth, budget)

    def why_not(self, name: str, row: RowPattern) -> WhyNot:
        """Return why no row has the values of all columns, or those of some in a dict.

        Its `ways` have, for each rule, what holds, what fails, and the nearest rows. Raises DelticError where such a
        row is present.
        """
        return self._reasons().why_not(name, self._readable(name), row)

    def _repr_html_(self) -> str:
        return table(("name", "kind", "columns", "rows"), self._relations(), repr(self))

    def _relations(self) -> list[tuple[str, str, str, int | str]]:
        """Return the readable relations: name, kind, columns, number of rows."""
        tables, version = self.tables, self._source.last.version
        return [
            (
                name,
                "table" if name in tables else "view",
                ", ".join(schema.names),
                version.count(name) if version.epoch else "no epoch yet",
            )
            for name, schema in self._schemas.items()
        ]

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
        return dict(self.catalog.table_schemas)

    @property
    def views(self) -> dict[str, Schema]:
        """The views and their columns; hidden ones are left out."""
        return dict(self.catalog.view_schemas)

    @property
    def _schemas(self) -> dict[str, Schema]:
        """The schemas of the readable relations."""
        return {**self.tables, **self.views}

    def _readable(self, name: str) -> Schema:
        """Return the columns of a view or table; raises DelticError when there is none, or it is hidden."""
        return find(name, "view or table", self._schemas, self._unreadable)

    @property
    def _unreadable(self) -> dict[str, str]:
        """The reason why an existing relation cannot be read."""
        return {**dict.fromkeys(self.checked.inlined, _INLINED), **dict.fromkeys(self.catalog.views, _HIDDEN)}

    def _check_view(self, name: str) -> None:
        find(name, "view", self.views, {**self._unreadable, **dict.fromkeys(self.tables, _TABLE)})


class View(Tabular):
    """A view or table of a pipeline. It holds no rows: each call reads the last committed epoch.

    Any thread may call it while others commit transactions.
    """

    def __init__(self, name: str, schema: Schema, reading: Reading) -> None:
        self.name = name
        self.schema = schema
        self.place = reading.place
        """Where the state is kept that has it; None for memory."""
        self.spark = reading.spark
        self._reading = reading

    def _version(self) -> Version:
        self._reading._readable(self.name)  # it may have been dropped since
        return self._reading._version()

    def rows(self, counted: bool = False) -> Rows:
        """Return all rows, in no particular order: those of a bag as often as they weigh.

        With `counted`, or where a flow's `minus` made a weight negative, each row occurs once, with its weight in a
        last column `__weight__`.
        """
        return Rows(TableBatch(self._version().read(self.name, counted=counted)), self.spark)

    def lookup(self, **key: Any) -> Rows:
        """Return the rows with these values in these columns, as `rows` gives them.

        `deltic.between(low, high)` matches a range. Where an order of the relation begins with these columns, as the
        declared one does, this costs the result; other look-ups scan all rows, and ranges of texts the rows that the
        other columns leave. Raises DelticError for an unknown column or a value of another type.
        """
        columns = {column.name: column for column in self.schema}
        for name, value in key.items():
            column = find(name, "column", columns, within=self.name)
            if isinstance(value, Between) and not has_ranges(column.type):
                raise DelticError(f"{self.name}, column {name}: ranges of type {column.type} are not looked up")
            for each in value.bounds if isinstance(value, Between) else [value]:
                reason = problem(each, column)
                if reason is not None:
                    raise DelticError(f"{self.name}, column {name}: {reason}")
        return Rows(TableBatch(self._version().lookup(self.name, key)), self.spark)

    def why(self, **values: Any) -> Explanation:
        """Return why a row with these values is present; see `Pipeline.why`."""
        return self._reading.why(self.name, values)

    def to_arrow(self) -> pa.Table:
        return self.rows().to_arrow()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def head(self, count: int) -> Rows:
        return self.rows().head(count)

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def to_spark(self) -> DataFrame:
        """Return the rows as a Spark DataFrame with this name as alias, in the pipeline's session or the active one."""
        return self.rows().to_spark().alias(self.name)

    def __len__(self) -> int:
        return self._version().count(self.name)

    def _repr_html_(self) -> str:
        columns = [(c.name, str(c.type), "yes" if c.nullable else "no") for c in self.schema]
        return table(("column", "type", "nullable"), columns, self.name, self._size())

    def __repr__(self) -> str:
        return f"{self.name}{self.schema}: {self._size()}"

    def _size(self) -> str:
        """Return the number of rows for a display, without starting an epoch."""
        version = self._reading._source.last.version
        return count_of(version.count(self.name), "row") if version.epoch else "no epoch yet"
