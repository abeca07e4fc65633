"""User-defined operators: functions of Z-sets, with derivatives where the user gives them.

In a circuit such an operator is a name that ends with its fingerprint, a hash of its code, constants and closure. Two
operators are the same only if they compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from deltic.algebra.zset import ZSet
from deltic.circuit.accumulators.own import UserAggregate
from deltic.circuit.python import PythonFunction, digest, fingerprint
from deltic.circuit.tables import WEIGHT, from_arrow, to_arrow, weighted
from deltic.errors import EvaluationError
from deltic.lazy import pa
from deltic.values.types import Schema

Form = Literal["rows", "arrow"]
"""The type of the functions' inputs and outputs: Z-sets of tuples, or Arrow tables with a weight column."""

CUSTOM: dict[str, CustomOperator] = {}
"""The operators by their names in circuits."""

_LATEST: dict[str, CustomOperator] = {}


class Change:
    """One input of a derivative: `delta`, its change, and its values before (`old`) and after it (`new`).

    All three are Z-sets, or Arrow tables with weights. The values are computed on first use, in time proportional to
    the relation; a derivative that reads only the changes costs time proportional to them.
    """

    def __init__(self, delta: Any, old: Callable[[], Any], new: Callable[[], Any]) -> None:
        self.delta, self._old, self._new = delta, old, new

    @classmethod
    def of(cls, delta: Any, old: Any, new: Any) -> Change:
        """Build a change from values that are already computed."""
        return cls(delta, lambda: old, lambda: new)

    @cached_property
    def old(self) -> Any:
        """The value before the change."""
        return self._old()

    @cached_property
    def new(self) -> Any:
        """The value after the change."""
        return self._new()


@dataclass(frozen=True)
class CustomOperator:
    """A function from Z-sets with the columns `takes` to one with the columns `gives`.

    With neither `derivative` nor `state` it is recomputed whenever an input changes. `derivative` maps a `Change` of
    each input to the change of the result. `state` makes an object whose method `update` receives the changes of the
    inputs, step by step from the empty inputs on, stores what it needs of them, and returns the change of the result.
    """

    in_sql: ClassVar[bool] = True
    name: str
    body: Callable[..., Any] = field(compare=False)
    takes: tuple[Schema, ...]
    gives: Schema
    form: Form = "rows"
    derivative: Callable[..., Any] | None = field(default=None, compare=False)
    state: Callable[[], Any] | None = field(default=None, compare=False)
    fingerprint: str = ""

    def __post_init__(self) -> None:
        parts = (self.body, self.derivative, self.state)
        object.__setattr__(self, "fingerprint", digest(fingerprint(p) for p in parts if p is not None))
        CUSTOM[self.entry] = _LATEST[self.name] = self

    def __call__(self, *inputs: Any) -> Any:
        """Return the function itself."""
        return self.body(*inputs)

    @property
    def entry(self) -> str:
        """Its name in circuits."""
        return f"{self.name}__{digest(map(str, (self.fingerprint, *self.takes, self.gives, self.form)))[:12]}"

    @property
    def keys(self) -> int:
        """The number of leading key columns of input and result if groups are independent; 0 if it needs all rows."""
        return 0

    @property
    def is_maintained(self) -> bool:
        """Whether it has a derivative or a state."""
        return self.derivative is not None or self.state is not None

    # On Z-sets, for the reference interpreter

    def value(self, inputs: Sequence[ZSet[Any]]) -> ZSet[Any]:
        """Return the result for values of the inputs. Raises EvaluationError."""
        return from_arrow(self.table(self.body, self._in_form(inputs)))

    def change(self, olds: Sequence[ZSet[Any]], deltas: Sequence[ZSet[Any]]) -> ZSet[Any]:
        """Return the change of the result for these changes of the inputs, by its derivative or its state."""
        before, changed = self._in_form(olds), self._in_form(deltas)
        if self.state is not None:
            state = self.state()
            self.updated(state, before)
            return from_arrow(self.updated(state, changed))
        after = self._in_form([old + delta for old, delta in zip(olds, deltas, strict=True)])
        return from_arrow(self.derived(list(map(Change.of, changed, before, after))))

    def _in_form(self, inputs: Sequence[ZSet[Any]]) -> list[Any]:
        """Return the inputs in the form that the functions take."""
        if self.form == "rows":
            return list(inputs)
        return [to_arrow(rows, schema) for rows, schema in zip(inputs, self.takes, strict=True)]

    # On Arrow tables with weights, for the engines

    def given(self, batch: pa.Table, place: int) -> Any:
        """Return a batch of input number `place` in the form that the functions take."""
        named = batch.rename_columns([*self.takes[place].names, WEIGHT])
        return from_arrow(named) if self.form == "rows" else named

    def derived(self, changes: Sequence[Change]) -> pa.Table:
        """Return the change of the result, by the derivative. Raises EvaluationError."""
        assert self.derivative is not None
        return self.table(self.derivative, changes)

    def updated(self, state: Any, deltas: Sequence[Any]) -> pa.Table:
        """Update a state and return the change of the result. Raises EvaluationError."""
        return self.table(state.update, deltas)

    def table(self, function: Callable[..., Any], arguments: Sequence[Any]) -> pa.Table:
        """Return the result of a function as an Arrow table with weights. Raises EvaluationError."""
        try:
            return self._checked(function(*arguments))
        except Exception as error:
            message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise EvaluationError(f"operator {self.name} raised {message}; the epoch was rejected") from error

    def _checked(self, result: Any) -> pa.Table:
        """Return a result as a table with the declared columns; raises an error where it does not conform."""
        if self.form == "rows":
            return to_arrow(_zset(result, len(self.gives)), self.gives)
        wanted = weighted(self.gives)
        if WEIGHT not in result.column_names:
            result = result.append_column(wanted.field(WEIGHT), pa.array([1] * len(result), pa.int64()))
        return result.select(wanted.names).cast(wanted)


@dataclass(frozen=True)
class CustomAggregate(CustomOperator):
    """A function of the values `of` the rows of a group: a keyed operator, and an aggregate of SQL and Datalog.

    `function` takes a list of the values; `made` creates the state that `update` maintains.
    """

    function: Callable[[list[Any]], Any] = field(default=list, compare=False)
    of: Schema = field(default_factory=lambda: Schema(()))
    results: Schema = field(default_factory=lambda: Schema(()))
    made: Callable[[], Any] | None = field(default=None, compare=False)

    @property
    def keys(self) -> int:
        return len(self.takes[0]) - len(self.of)

    @cached_property
    def accumulator(self) -> str:
        """Its name among the aggregates of circuits; registers it there."""
        parts = (fingerprint(part) for part in (self.function, self.made) if part is not None)
        key = digest((*parts, str(self.of), str(self.results)))[:12]
        return UserAggregate(f"{self.name}__{key}", self.name, self.function, self.of, self.results, self.made).name


OfPython = PythonFunction | CustomOperator
"""Something that a user registers for SQL and Datalog: a scalar function, an aggregate, an operator on relations."""


def operator_called(entry: str) -> CustomOperator | None:
    """Return the operator of that name in circuits.

    If it is unknown, the latest one whose name differs only in the fingerprint.
    """
    return CUSTOM.get(entry) or _LATEST.get(entry.rpartition("__")[0])


def _zset(result: Any, width: int) -> ZSet[Any]:
    """Convert a Z-set, a mapping from rows to weights, or rows of weight one to a Z-set."""
    if not isinstance(result, ZSet):
        result = ZSet(result) if isinstance(result, Mapping) else ZSet.of(map(tuple, result))
    rows: ZSet[Any] = result
    for row, weight in rows:
        if not isinstance(row, tuple) or len(row) != width:
            raise TypeError(f"it gave the row {row!r}, and rows are tuples of {width} values")
        if not isinstance(weight, int):
            raise TypeError(f"it gave the weight {weight!r}, and weights are integers")
    return rows
