"""User-defined operators; and aggregates, for SQL and Datalog and as operators that visit only changed groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from deltic.algebra.zset import ZSet as ZSet
from deltic.catalog.columns import schema_of
from deltic.catalog.definitions import check_columns
from deltic.circuit.custom import CustomAggregate, CustomOperator, Form
from deltic.errors import CatalogError
from deltic.values.types import Schema


def operator(
    body: Callable[..., Any] | None = None,
    /,
    *,
    takes: Sequence[Mapping[str, Any]],
    gives: Mapping[str, Any],
    name: str | None = None,
    vectorized: bool = False,
    derivative: Callable[..., Any] | None = None,
    state: Callable[[], Any] | None = None,
) -> Any:
    """Return an operator of your own on relations: a function of Z-sets to a Z-set.

        @deltic.operator(takes=[{"id": int, "x": float}, {"shop": int, "at": float}], gives={"id": int, "shop": int})
        def near(points, shops):
            return {(p, s): w * v for (p, x), w in points for (s, at), v in shops if abs(x - at) < 1}

    `takes` has the columns of each input, `gives` those of the result, with types as in `Pipeline.table`. The function
    receives a `deltic.ZSet` of tuples for each input, pairs of a row and its weight, and returns one, or a mapping from
    rows to weights, or rows. If `vectorized`, these are Arrow tables with a column `__weight__`; without that column
    every row of a result counts once. Equal inputs must give equal results.

    Alone it is recomputed whenever an input changes. A `derivative` receives a `Change` for each input, with its
    `delta`, `old` and `new`, and returns the change of the result. A `state` is a class, or a function that makes an
    object, with a method `update`, which receives the changes of all inputs, remembers what it needs, and returns the
    change of the result. `deltic.check_derivative` tests either. Raises CatalogError.
    """
    if body is None:
        given: dict[str, Any] = {"takes": takes, "gives": gives, "name": name, "vectorized": vectorized}
        return lambda decorated: operator(decorated, derivative=derivative, state=state, **given)
    called = str(name or getattr(body, "__name__", ""))
    if not called.isidentifier():
        raise CatalogError(f"operator {called or body!r}: give it a name and something that can be called")
    if derivative is not None and state is not None:
        raise CatalogError(f"operator {called}: it has a derivative or a state, not both")
    if isinstance(takes, Mapping) or not takes:
        raise CatalogError(f"operator {called}: takes has the columns of each input: takes=[{{…}}, …]")
    schemas = [schema_of(called, columns) for columns in (*takes, gives)]
    for schema in schemas:
        check_columns(called, schema)
    form: Form = "arrow" if vectorized else "rows"
    return CustomOperator(called, body, tuple(schemas[:-1]), schemas[-1], form, derivative, state)


Row = tuple[Any, ...]
_NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})


def aggregate(
    body: Callable[..., Any] | None = None,
    /,
    *,
    of: Mapping[str, Any],
    gives: Mapping[str, Any],
    by: Mapping[str, Any] = _NO_COLUMNS,
    name: str | None = None,
    state: Callable[[], Any] | None = None,
) -> Any:
    """Return an aggregate of your own: a function of the values of a group.

        @deltic.aggregate(of={"price": "float64"}, gives={"middle": "float64"})
        def middle(prices):
            return sorted(prices)[len(prices) // 2]

    `Pipeline.function` adds it to SQL, `SELECT middle(price) … GROUP BY shop`, and to Datalog, `@@middle p : { … }`.
    With `by`, the columns of its groups, it is also an operator for `Flow.apply`. `of` are the columns that it reads,
    `gives` that of the result, with types as in `Pipeline.table`. The function receives a list of the values with
    repetitions, in no order, as tuples if there are several columns, and returns the result, a tuple if there are
    several. The values of each group are kept; a change costs the groups that it touches.

    With a `state` it costs the changed values: a class with the methods `update(value, weight)`, where a negative
    weight retracts a value, and `result()`. `deltic.check_derivative` compares it with the function. Raises
    CatalogError.
    """
    if body is None:
        return lambda decorated: aggregate(decorated, of=of, gives=gives, by=by, name=name, state=state)
    if not of or not gives or {*by} & ({*of} | {*gives}):
        message = "by, of and gives have the columns of groups, values and results, all under names of their own"
        raise CatalogError(f"aggregate {name or getattr(body, '__name__', body)}: {message}")
    function, keys, alone = body, len(by), len(of) == 1

    def value(rows: ZSet[Row]) -> Iterator[Row]:
        groups = defaultdict[Row, list[Any]](list)
        for key, value, weight in _parts(rows, keys, alone):
            groups[key] += [value] * weight
        return (_row(key, function(values)) for key, values in groups.items() if values)

    made = (lambda: _Values(function)) if state is None else state
    called = name or getattr(body, "__name__", "")
    takes, all_given = [{**by, **of}], {**by, **gives}
    made_of = operator(value, name=called, takes=takes, gives=all_given, state=lambda: _Groups(made, keys, alone))
    return CustomAggregate(
        made_of.name,
        made_of.body,
        made_of.takes,
        made_of.gives,
        state=made_of.state,
        function=function,
        of=Schema(made_of.takes[0].columns[keys:]),
        results=Schema(made_of.gives.columns[keys:]),
        made=state,
    )


class _Values:
    """The values of a group, and a function of them."""

    def __init__(self, function: Callable[[list[Any]], Any]) -> None:
        self._function, self._weights = function, dict[Any, int]()

    def update(self, value: Any, weight: int) -> None:
        """Add a value with a weight."""
        total = self._weights.pop(value, 0) + weight
        if total:
            self._weights[value] = total

    def result(self) -> Any:
        """Return the function of the values."""
        return self._function([value for value, weight in self._weights.items() for _ in range(weight)])


class _Groups:
    """A state and a result for each group, and how many rows it has."""

    def __init__(self, make: Callable[[], Any], keys: int, alone: bool) -> None:
        self._make, self._keys, self._alone = make, keys, alone
        self._states: dict[Row, Any] = {}
        self._sizes = defaultdict[Row, int](int)
        self._rows: dict[Row, Row] = {}

    def update(self, rows: ZSet[Row]) -> ZSet[Row]:
        """Return the change of the groups' result rows."""
        changed: dict[Row, None] = {}
        for key, value, weight in _parts(rows, self._keys, self._alone):
            if key not in self._states:
                self._states[key] = self._make()
            self._states[key].update(value, weight)
            self._sizes[key] += weight
            changed[key] = None
        return sum(map(self._changed, changed), ZSet[Row]())

    def _changed(self, key: Row) -> ZSet[Row]:
        before = self._rows.pop(key, None)
        if self._sizes[key] > 0:
            self._rows[key] = _row(key, self._states[key].result())
        elif not self._sizes[key]:
            del self._sizes[key], self._states[key]
        after = self._rows.get(key)
        return ZSet([(row, weight) for row, weight in ((before, -1), (after, 1)) if row is not None])


def _parts(rows: ZSet[Row], keys: int, alone: bool) -> Iterator[tuple[Row, Any, int]]:
    """Yield the key, value and weight of each row; insertions first, so that no group is empty in between."""
    for row, weight in sorted(rows, key=lambda pair: pair[1] < 0):
        yield row[:keys], row[keys] if alone else row[keys:], weight


def _row(key: Row, found: Any) -> Row:
    return (*key, *(found if isinstance(found, tuple) else (found,)))
