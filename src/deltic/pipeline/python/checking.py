"""The law of a derivative, on random inputs: f(a + Δa) = f(a) + f'(a, Δa)."""

from __future__ import annotations

import string
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from deltic.algebra.zset import ZSet
from deltic.circuit.custom import CustomOperator
from deltic.errors import DelticError
from deltic.extras import required
from deltic.values import of_python
from deltic.values.types import Kind, Schema, Type, ValueType

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# How many changes follow each other in an example.
_EPOCHS = 3


def check_derivative(
    operator: CustomOperator, rows: Sequence[SearchStrategy[tuple[Any, ...]] | None] = (), examples: int = 100
) -> None:
    """Test on random changes that the derivative or state of an operator gives what recomputing it gives.

    Each example is some rows for each input and a few changes of them, insertions and deletions; values are small, so
    that rows match. `rows` are hypothesis strategies for the rows of each input, if the operator needs others. Raises
    AssertionError with the smallest counterexample, ready to paste; DelticError for an operator without a derivative or
    state, or without hypothesis.
    """
    if not operator.is_maintained:
        message = f"operator {operator.name} has no derivative and no state"
        raise DelticError(f"{message}, and is recomputed: there is nothing to test")
    required("hypothesis", "check_derivative, which makes examples,")
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from hypothesis import strategies as st

    chosen = [*rows, *[None] * (len(operator.takes) - len(rows))]
    strategies = [_rows(schema) if own is None else own for schema, own in zip(operator.takes, chosen, strict=True)]
    places = st.none() | st.integers(0, 9)
    changes = st.tuples(*(st.lists(st.tuples(row, places), max_size=5) for row in strategies))
    phases = (Phase.generate, Phase.shrink)
    quiet = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=phases,
        verbosity=Verbosity.quiet,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    quiet(given(st.lists(changes, min_size=1, max_size=_EPOCHS))(lambda epochs: _check(operator, epochs)))()


Step = tuple[tuple[Any, ...], int | None]
"""A row to insert, or the place of one to delete, among the present ones."""


def _check(operator: CustomOperator, epochs: Sequence[Sequence[Sequence[Step]]]) -> None:
    """Raise AssertionError where a change gives another result than recomputing."""
    values: list[ZSet[Any]] = [ZSet()] * len(operator.takes)
    for epoch in epochs:
        deltas = [_possible(value, steps) for value, steps in zip(values, epoch, strict=True)]
        after = [value + delta for value, delta in zip(values, deltas, strict=True)]
        was, is_, change = operator.value(values), operator.value(after), operator.change(values, deltas)
        if was + change != is_:
            raise AssertionError(_failure(operator, values, deltas, was, is_, change))
        values = after


def _possible(value: ZSet[Any], steps: Sequence[Step]) -> ZSet[Any]:
    """Return a change that inserts rows and deletes some present ones."""
    delta: ZSet[Any] = ZSet()
    for row, place in steps:
        there = sorted(((value + delta).support()), key=repr)
        if place is None:
            delta = delta + ZSet({row: 1})
        elif there:
            delta = delta - ZSet({there[place % len(there)]: 1})
    return delta


def _failure(
    operator: CustomOperator,
    values: Sequence[ZSet[Any]],
    deltas: Sequence[ZSet[Any]],
    was: ZSet[Any],
    is_: ZSet[Any],
    change: ZSet[Any],
) -> str:
    """Return a counterexample that can be pasted."""
    lines = [
        f"operator {operator.name}: f(a + Δa) is not f(a) + f'(a, Δa)",
        "from deltic import ZSet",
        f"a = [{', '.join(map(repr, values))}]",
        f"delta = [{', '.join(map(repr, deltas))}]",
        f"{operator.name}.change(a, delta)",
        f"# gives {change!r}",
        f"# and should give {is_ - was!r}",
    ]
    return "\n".join(lines)


def _rows(schema: Schema) -> SearchStrategy[tuple[Any, ...]]:
    """Rows with few distinct values."""
    from hypothesis import strategies as st

    return st.tuples(*(_values(column.value_type) for column in schema))


def _values(type_: ValueType) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    result = _VALUES.get(type_.type.kind)
    if result is None:
        raise DelticError(
            f"there are no random values of the type {type_.type}: give rows=[…], a strategy for each input"
        )
    values = st.sampled_from([of_python(v, type_.type) for v in result if _fits(v, type_.type)])
    return st.one_of(st.none(), values) if type_.nullable else values


def _fits(value: Any, type_: Type) -> bool:
    low, high = type_.range if type_.is_integer else (value, value)
    return bool(low <= value <= high)


_INTEGERS = (0, 1, 2, 3, 4, -1, 7, 100)
_FLOATS = (0.0, 1.0, 0.5, 2.0, -1.0, 2.5, 10.0)
_VALUES: dict[Kind, Sequence[Any]] = {
    Kind.BOOLEAN: (False, True),
    Kind.STRING: ("", *string.ascii_lowercase[:3], "ab"),
    Kind.BINARY: (b"", b"a", b"b"),
    Kind.DATE: tuple(date(2026, 1, day) for day in (1, 2, 3, 10)),
    Kind.TIMESTAMP_NTZ: tuple(datetime(2026, 1, 1, hour) for hour in (0, 1, 2, 12)),
    Kind.TIME: tuple(time(hour) for hour in (0, 1, 2, 12)),
    Kind.FLOAT32: _FLOATS,
    Kind.FLOAT64: _FLOATS,
    **{type_.kind: _INTEGERS for type_ in Type.simple() if type_.is_integer},
}
