"""The clauses of a SELECT, and names in them: selected expressions by their aliases and numbers, stars, fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.errors import count_of
from deltic.sql.aggregates import is_aggregate
from deltic.sql.queries.generators import is_generator
from deltic.sql.queries.ordering import ordinal
from deltic.sql.queries.stars import spread
from deltic.sql.queries.trees import replaced
from deltic.sql.queries.values import BlockValues


@dataclass(frozen=True)
class SelectItem:
    """A selected expression and its name; a bare column keeps the name of its relation."""

    name: str
    node: exp.Expression
    relation: str = ""


@dataclass(frozen=True)
class Clauses:
    """The expressions that are evaluated after FROM and WHERE, or on groups; `first_of` is DISTINCT ON."""

    items: tuple[SelectItem, ...]
    having: exp.Expression | None
    qualify: exp.Expression | None
    order: tuple[exp.Expression, ...]
    first_of: tuple[exp.Expression, ...] = ()

    def __iter__(self) -> Iterator[exp.Expression]:
        yield from (item.node for item in self.items)
        yield from (node for node in (self.having, self.qualify) if node is not None)
        yield from self.order
        yield from self.first_of

    def map(self, change: Callable[[exp.Expression], exp.Expression]) -> Clauses:
        """Apply a function to all expressions of the clauses."""
        having, qualify = (None if node is None else change(node) for node in (self.having, self.qualify))
        items = tuple(replace(item, node=change(item.node)) for item in self.items)
        return Clauses(items, having, qualify, tuple(map(change, self.order)), tuple(map(change, self.first_of)))


def with_names(node: exp.Expression, items: Sequence[SelectItem], values: BlockValues) -> exp.Expression:
    """Replace names of selected expressions, where no column has that name."""

    def selected(part: exp.Expression) -> list[SelectItem]:
        name = (part.text("table") or part.name).lower()
        return [item for item in items if item.name.lower() == name]

    def is_alias(part: exp.Expression) -> bool:
        if not isinstance(part, exp.Column) or part.db or values.rows.find(part):
            return False
        relation = part.table.lower()
        if relation and relation in {a.relation.lower() for a in values.rows.attributes}:
            return False
        return bool(selected(part))

    def selected_as(part: exp.Expression) -> exp.Expression:
        name, found = (part.text("table") or part.name).lower(), selected(part)
        if sum(not (isinstance(i.node, exp.Column) and i.node.name.lower() == name) for i in found) > 1:
            raise values.scope.source.error(part, f"{name} is ambiguous: it is selected twice", "rename one of them")
        whole = exp.Paren(this=found[0].node.copy())
        return exp.Dot(this=whole, expression=part.this.copy()) if part.text("table") else whole

    return replaced(meant(node, values), is_alias, selected_as)


def meant(node: exp.Expression, values: BlockValues) -> exp.Expression:
    """Resolve stars and names of fields in an expression."""
    return values.dotted(spread(node, values))


def sort_key(
    key: exp.Expression, items: Sequence[SelectItem], values: BlockValues, winning: Sequence[SelectItem] | None = None
) -> exp.Expression:
    """Return a sort key or HAVING, in which names of selected expressions win over columns: of all, or of the
    `winning`.

    Inside aggregates and window functions columns win, as in all other clauses.
    """
    chosen = items if winning is None else winning
    names = [item.name.lower() for item in chosen]
    by_name = {item.name.lower(): item.node for item in chosen if names.count(item.name.lower()) == 1}

    def is_selected(part: exp.Expression) -> bool:
        return isinstance(part, exp.Column) and not part.table and part.name.lower() in by_name

    def selected(part: exp.Expression) -> exp.Expression:
        return exp.Paren(this=by_name[part.name.lower()].copy()) if is_selected(part) else part.copy()

    def is_whole(part: exp.Expression) -> bool:
        return is_selected(part) or isinstance(part, exp.Window) or is_aggregate(part)

    return with_names(replaced(key, is_whole, selected), items, values)


def but_keys(items: Sequence[SelectItem], select: exp.Select) -> list[SelectItem]:
    """Return the selected expressions, without those named like a key of GROUP BY: in HAVING the key wins."""
    group = select.args.get("group")
    keys = {key.name.lower() for key in keys_of_group(group) if isinstance(key, exp.Column)} if group else set()
    return [item for item in items if item.name.lower() not in keys]


def numbered(key: exp.Expression, items: Sequence[SelectItem], clause: str, values: BlockValues) -> exp.Expression:
    """Replace a number or name in a key by the selected expression."""
    index = ordinal(key)
    if index is None:
        return with_names(key, items, values)
    if not 1 <= index <= len(items):
        raise values.scope.source.error(key, f"{clause} {index}: the query has {count_of(len(items), 'column')}")
    return items[index - 1].node.copy()


def is_generated(node: exp.Expression) -> bool:
    """Return whether a selected expression is a generator, maybe with names for its columns."""
    return is_generator(unnamed(node))


def unnamed(node: exp.Expression) -> exp.Expression:
    """Return a selected expression without its alias."""
    inner: exp.Expression = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    return inner


def keys_of(node: exp.Expression) -> list[exp.Expression]:
    """Return the expressions that GROUP BY ALL groups by: the selected one, or the arguments of a generator."""
    if not is_generated(node):
        return [node]
    return [part for part in unnamed(node).iter_expressions() if part.find(exp.Column)]


def numbers_of(items: Sequence[SelectItem]) -> dict[object, int]:
    """Return the number of each selected expression, from 1; equal expressions have the number of the first."""
    result: dict[object, int] = {}
    for number, item in enumerate(items, 1):
        result.setdefault(item.node.unnest(), number)
    return result


def by_number(key: exp.Expression, numbers: Mapping[object, int]) -> exp.Expression:
    """Return the sort key by number where it is one of the selected expressions, so that it needs no column of its
    own.
    """
    whole = key.this.unnest()
    if whole not in numbers or ordinal(key.this) is not None:
        return key
    result, number = key.copy(), exp.Literal.number(numbers[whole])
    number.meta.update(whole.meta)
    result.set("this", number)
    return result


def keys_of_group(group: exp.Expression, within: bool = False) -> Iterator[exp.Expression]:
    """Yield the keys of GROUP BY, with those of its ROLLUP, CUBE and GROUPING SETS; parentheses hold several keys."""
    for key in list(group.iter_expressions()):
        is_set = isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets)
        if is_set or (within and isinstance(key, exp.Tuple | exp.Paren)):
            yield from keys_of_group(key, True)
        else:
            yield key
