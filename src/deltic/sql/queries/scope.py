"""The scope of a query: its circuit, the relations that names mean, and the outer rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from deltic.catalog.definitions import CLOCK
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.errors import ProgramError
from deltic.sql.names import find_name
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.rows import Bindings, QueryColumn, QueryRows
from deltic.sql.remedies import of_relation
from deltic.sql.text import SourceText
from deltic.sql.types import collated_as


@dataclass(frozen=True)
class NamedRows:
    """What a name in FROM means: rows of the circuit `home`, which have the attributes of no relation yet.

    Rows that WITH defines in a correlated subquery may have the columns of its `bindings` beside the others.
    """

    rows: QueryRows
    home: Nodes
    bindings: Bindings | None = None


@dataclass
class CatalogTables:
    """The tables and views of the catalog, each a source of the whole circuit when it is first read."""

    types: Mapping[str, ZSetType]
    nodes: Nodes
    _read: dict[str, NamedRows] = field(default_factory=dict)

    @property
    def clock(self) -> NamedRows:
        """The one row of the clock."""
        return self.read(CLOCK.name)

    def read(self, name: str) -> NamedRows:
        """Return the relation of that spelling."""
        if name not in self._read:
            type_ = CLOCK.type if name == CLOCK.name else self.types[name]
            node = self.nodes.builder.add(ops.Source(name, type_.schema, type_.is_set))
            named = dict(type_.collations)
            columns = tuple(
                QueryColumn(c.name, c, modifier=collated_as(c.type, named.get(c.name))) for c in type_.schema
            )
            self._read[name] = NamedRows(QueryRows(node, columns), self.nodes)
        return self._read[name]


@dataclass(frozen=True)
class QueryScope:
    """`named` are what WITH defines; `lower` lowers a query; `bindings` are those of a correlated subquery.

    In the query of the recursive relation `recursive`, `around` is the scope of what does not depend on it. `refresh`
    is the policy of recursions. What is lowered on trial gives the columns that a subquery uses; its nodes are dropped.
    """

    nodes: Nodes
    source: SourceText
    tables: CatalogTables
    lower: Callable[[exp.Expression, QueryScope], QueryRows]
    named: Mapping[str, NamedRows] = field(default_factory=dict)
    bindings: Bindings | None = None
    around: QueryScope | None = None
    recursive: str = ""
    refresh: RefreshPolicy = ""
    is_trial: bool = False

    def lower_alone(self, query: exp.Expression) -> QueryRows:
        """Return the rows of an uncorrelated query, lowered outside a recursion that it does not read."""
        if self.around is None or reads(query, self.recursive):
            alone = self.bound(None)
            return alone.lower(query, alone)
        rows = self.around.lower_alone(query)
        return rows.over(self.nodes.bring(rows.node, self.around.nodes))

    def lower_derived(self, query: exp.Expression) -> QueryRows:
        """Return the rows of a query in FROM or WITH; if it is correlated, together with its bindings."""
        try:
            return self.lower_alone(query)
        except ProgramError:
            if self.bindings is None:
                raise
        return self.lower(query, self)

    def rows_of(self, name: str, node: exp.Expression) -> QueryRows:
        """Return the rows of a relation, with columns of their own. Raises ProgramError where there is none of that
        name.
        """
        result = self.named.get(name.lower())
        if result is None:
            known = [*self.tables.types, *self.named]
            result = self.tables.read(find_name(node.this, "table or view", known, self.source, of_relation(node)))
        elif result.bindings is not None:
            self._use_bindings(result, result.bindings)
        return self.own(result.rows.over(self.nodes.bring(result.rows.node, result.home)))

    def _use_bindings(self, named: NamedRows, home: Bindings) -> None:
        """Add the columns that rows of a correlated WITH use to all bindings from here up to those of the WITH."""
        own = {a.column.name for a in named.rows.attributes}
        used = [name for name in named.home.schema(named.rows.node).names if name not in own]
        bindings = self.bindings
        while bindings is not None:
            bindings.used |= dict.fromkeys(used)
            bindings = None if bindings is home else bindings.around

    def own(self, rows: QueryRows) -> QueryRows:
        """Return the rows with fresh names for the columns that SQL sees."""
        names = {a.column.name: self.nodes.fresh(a.name) for a in rows.attributes}
        renamed = tuple(replace(a, column=replace(a.column, name=names[a.column.name])) for a in rows.attributes)
        self.nodes.words.call(renamed)
        return QueryRows(self.nodes.rename(rows.node, names), renamed).in_order(rows.order, names)

    def seen(self, rows: QueryRows, node: int) -> QueryRows:
        """Return the same rows over another node with their columns, of which more may be nullable."""
        attributes = (replace(a, column=self.nodes.column(node, a.column.name)) for a in rows.attributes)
        return QueryRows(node, tuple(attributes))

    def naming(self, name: str, rows: QueryRows) -> QueryScope:
        """This scope and a relation of that name."""
        return replace(self, named={**self.named, name.lower(): NamedRows(rows, self.nodes, self.bindings)})

    def bound(self, bindings: Bindings | None) -> QueryScope:
        """This scope for lowering a subquery under bindings."""
        return replace(self, bindings=bindings)

    def on_trial(self, bindings: Bindings) -> QueryScope:
        """This scope for lowering a subquery to find out which outer columns it uses."""
        return replace(self, bindings=bindings, is_trial=True)

    @property
    def start(self) -> int:
        """The bindings, or one row without columns."""
        return self.nodes.unit() if self.bindings is None else self.bindings.node

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The columns of the bindings."""
        return () if self.bindings is None else self.nodes.schema(self.bindings.node).names

    def refuse(self, node: exp.Expression | None, what: str, remedy: str = "") -> Exception:
        """Return the error for a construct that a maintained view cannot contain."""
        return self.source.error(node, f"{what} is not supported in a maintained view", remedy)


def reads(query: exp.Expression, name: str) -> bool:
    """Return whether a query reads the relation of that name."""
    return any(table.name.lower() == name.lower() for table in query.find_all(exp.Table))
