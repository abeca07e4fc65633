"""The rows of a part of a query, and the resolution of column names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import takewhile

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.errors import did_you_mean
from deltic.sql.collations import Modifier, implied
from deltic.sql.scalars import NULL, Typed, typed
from deltic.sql.text import SourceText
from deltic.sql.variables import refuse_in_definition, variable_of
from deltic.values.types import Column


@dataclass(frozen=True)
class QueryColumn:
    """A column as SQL sees it: by its name, and by that of the relation that it comes from.

    `column` is its column in the circuit. A `hidden` one is found by its relation's name alone: what USING has merged.
    One that `is_void` has NULL in every row, of whatever type is needed; `modifier` is that of its values.
    """

    name: str
    column: Column
    relation: str = ""
    hidden: bool = False
    is_void: bool = False
    modifier: Modifier | None = None

    def is_called(self, name: str, relation: str) -> bool:
        """Return whether a reference means this column; one without a relation means only visible columns."""
        if self.name.lower() != name.lower():
            return False
        return self.relation.lower() == relation.lower() if relation else not self.hidden

    @property
    def typed(self) -> Typed:
        """Its value."""
        if self.is_void:
            return NULL
        return Typed(column(self.column.name), self.column.value_type, modifier=implied(self.modifier))

    @property
    def is_collated(self) -> bool:
        """Whether it has texts that are not compared by their bytes."""
        return self.typed.is_collated


@dataclass(frozen=True)
class QueryRows:
    """A node of the circuit with the columns that SQL sees; others of the node are those of bindings.

    `order` is that of a subquery's ORDER BY, by columns of the node: it is for the LIMIT of a query around it.
    """

    node: int
    attributes: tuple[QueryColumn, ...]
    order: tuple[ops.Order, ...] = ()

    @property
    def visible(self) -> tuple[QueryColumn, ...]:
        """The columns of `*`."""
        return tuple(a for a in self.attributes if not a.hidden)

    @property
    def names(self) -> list[str]:
        """The names of the circuit's columns that are visible."""
        return [a.column.name for a in self.visible]

    def over(self, node: int) -> QueryRows:
        """Return the same columns in another node, which has them too."""
        return replace(self, node=node)

    def in_order(self, order: Iterable[ops.Order], names: Mapping[str, str]) -> QueryRows:
        """Return the rows in this order, whose columns are renamed; columns that the rows lack end the order."""
        there = takewhile(lambda by: by.column in names, order)
        return replace(self, order=tuple(replace(by, column=names[by.column]) for by in there))

    def called(self, relation: str, names: Sequence[str] = ()) -> QueryRows:
        """Return the visible columns as those of one named relation, optionally renamed."""
        shown = names or [a.name for a in self.visible]
        result = (replace(a, name=n, relation=relation) for n, a in zip(shown, self.visible, strict=True))
        return replace(self, attributes=tuple(result))

    def find(self, reference: exp.Column) -> list[QueryColumn]:
        """Return the columns that a reference of one or two parts may mean; more of them are fields of a column."""
        if reference.args.get("db"):
            return []
        name, relation = reference.name, reference.table
        return [a for a in self._by_name.get(name.lower(), ()) if a.is_called(name, relation)]

    @cached_property
    def _by_name(self) -> dict[str, list[QueryColumn]]:
        """The columns by their names in lower case."""
        result = defaultdict[str, list[QueryColumn]](list)
        for attribute in self.attributes:
            result[attribute.name.lower()].append(attribute)
        return result


@dataclass
class Bindings:
    """The bindings of a correlated subquery: the set `node` of outer values that it uses.

    The columns of the node have the names that they have in `outer`; `used` collects those that were found.
    """

    node: int
    outer: QueryRows
    around: Bindings | None
    used: dict[str, None] = field(default_factory=dict)

    def find(self, reference: exp.Column) -> list[QueryColumn]:
        """Return the outer columns that a reference may mean, from the nearest rows with a match."""
        result = self.outer.find(reference) or (self.around.find(reference) if self.around else [])
        self.used |= dict.fromkeys(a.column.name for a in result)
        return result


def resolve(reference: exp.Column, rows: QueryRows, bindings: Bindings | None, source: SourceText) -> Typed:
    """Return the value of a column by its name. Raises ProgramError where there is none, or where there are several."""
    result = rows.find(reference) or (bindings.find(reference) if bindings else [])
    if len({a.column.name for a in result}) > 1:
        written = source.written(reference)
        message = " or ".join(sorted({f"{a.relation}.{a.name}" if a.relation else a.name for a in result}))
        one_name = "give one of the relations an alias"
        hint = "write the one that is meant" if " or " in message else one_name
        raise source.error(reference, f"{written} is ambiguous: it may be {message}", hint)
    if result:
        return result[0].typed
    if (value := value_of(reference, source)) is not None:
        return value
    raise source.error(reference, f"there is no column {source.written(reference)} here", _near(reference, rows))


def value_of(reference: exp.Column, source: SourceText) -> Typed | None:
    """Return the value of the variable that a name means; None where it means none. Raises ProgramError in
    definitions.
    """
    variable = variable_of(reference)
    if variable is None:
        return None
    refuse_in_definition(variable, reference, source)
    return typed(variable.value, partial(resolve, rows=QueryRows(0, ()), bindings=None, source=source), source)


def variables_alone(source: SourceText, message: str, hint: str) -> Callable[[exp.Column], Typed]:
    """Return what gives the values of names in a constant: a ProgramError of this message where one is no variable."""

    def resolve(reference: exp.Column) -> Typed:
        if (value := value_of(reference, source)) is None:
            raise source.error(reference, message, hint)
        return value

    return resolve


def _near(reference: exp.Column, rows: QueryRows) -> str:
    """Return a hint with similar names."""
    if reference.table and reference.table.lower() not in {a.relation.lower() for a in rows.attributes}:
        relations = list(dict.fromkeys(a.relation for a in rows.attributes if a.relation))
        near = did_you_mean(reference.table, relations)
        return near or (f"the relations here are {', '.join(relations)}" if relations else "there is no FROM")
    names = list(dict.fromkeys(a.name for a in rows.attributes))
    if not names:
        return "there is no FROM"
    return did_you_mean(reference.name, names) or f"the columns here are {', '.join(names)}"
