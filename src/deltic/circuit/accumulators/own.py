"""User-defined aggregates: Python functions of the values of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import ACCUMULATORS, Accumulator, Parameter, Totals
from deltic.circuit.accumulators.extreme import plain, present
from deltic.errors import EvaluationError
from deltic.values import from_arrow, in_order, to_arrow
from deltic.values.types import Column, Schema, Type


class UserAggregate(Accumulator):
    """A Python function of the values of the columns `of`, with repetitions, in ascending order.

    The result has the columns `gives`: a plain value for one column, a struct for several. `state` makes an object that
    is updated with added and removed values, see `deltic.aggregate`; engines may use it, but the function is the
    definition. `name` is the name in circuits, which ends with the fingerprint of the code; `called` is the user's
    name.
    """

    def __init__(
        self,
        name: str,
        called: str,
        body: Callable[[list[Any]], Any],
        of: Schema,
        gives: Schema,
        state: Callable[[], Any] | None = None,
    ) -> None:
        self.name, self._called, self._body, self.of, self.gives, self.state = name, called, body, of, gives, state
        self.keeps = "all values; a change costs all of the groups that it concerns"
        if state is not None:
            self.keeps = "all values, and a state in memory, which a change costs its own values alone"
        ACCUMULATORS[name] = self

    @property
    def called(self) -> str:
        return self._called

    @property
    def like(self) -> str:
        return "collect_list"

    def takes(self, types: Sequence[Type]) -> bool:
        return list(types) == [column.type for column in self.of] and all(type_.is_ordered for type_ in types)

    def result(self, types: Sequence[Type]) -> Type:
        return self.gives.columns[0].type if len(self.gives) == 1 else Type.struct(self.gives)

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return len(self.gives) == 1 and self.gives.columns[0].nullable

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = sorted((value for value in present(totals) if self.counts_row(value)), key=in_order)
        values = [plain(value) for value in there for _ in range(totals[value])]
        return self.made(lambda: self._body(values)) if values else None

    def counts_row(self, value: Any) -> bool:
        """Return whether a value, or a tuple of the values of several columns, contains no NULL."""
        return value is not None and (len(self.of) == 1 or None not in value)

    def made(self, result: Callable[[], Any]) -> Any:
        """Return a result of the user's code, converted to the declared type. Raises EvaluationError."""

        def typed() -> Any:
            type_ = self.result(())
            (converted,) = from_arrow(to_arrow([result()], type_), type_)
            if converted is None and not self.is_partial(()):
                raise TypeError(f"it gave None, and gives {type_}; declare {type_}? where it may")
            return converted

        return self.guarded(typed)

    def guarded(self, call: Callable[[], Any]) -> Any:
        """Call the user's code; raises EvaluationError for any exception of it."""
        try:
            return call()
        except Exception as error:
            message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise EvaluationError(f"aggregate {self.called} raised {message}; the epoch was rejected") from error
