"""Operators of a user's own: what is declared of one."""

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
    """An operator of your own on relations, for `pipeline.flow`: a function of Z-sets to a Z-set.

        @deltic.operator(takes=[{"id": int, "x": float}, {"shop": int, "at": float}], gives={"id": int, "shop": int})
        def near(points, shops):
            return {(p, s): w * v for (p, x), w in points for (s, at), v in shops if abs(x - at) < 1}

    `takes` has the columns of each input, `gives` those of the result, with types as those of `Pipeline.table`. The
    function gets a `deltic.ZSet` of tuples for each input, which is made of pairs of a row and its weight, and gives
    one, or a mapping from rows to weights, or just rows. `vectorized`, these are Arrow tables with a column
    `__weight__`; a result without that column has every row once. It has to give the same for the same inputs.

    Alone it is recomputed whenever an input changes, and the result compared with the one before. With a
    `derivative` it is not: that gets a `Change` for each input, whose `delta` is how it changes, `old` and `new` what
    it was and is, and gives the change of the result. A `state` is a class instead, or whatever makes an object with a
    method `update`, which gets the changes of all inputs, from nothing on, remembers what it needs of them, and gives
    the change of the result. `deltic.check_derivative` tests either. Raises CatalogError.
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
