"""User-defined operators: their declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deltic.algebra.zset import ZSet as ZSet
from deltic.catalog.columns import schema_of
from deltic.catalog.definitions import check_columns
from deltic.circuit.custom import CustomOperator, Form
from deltic.errors import CatalogError


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
    """An operator of your own on relations: a function of Z-sets to a Z-set.

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
