"""Windows over time: the recent rows of a relation whose rows carry timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator
from deltic.values.types import Type
from deltic.values.words import word

TIMESTAMPS = (Type.INT64, Type.UINT64, Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)


class Window(Operator):
    """W(v, θ): the rows of the first input whose timestamp is at least θ − `length` [DBSP §8.5].

    The second input is the clock, a relation of one column of the timestamps' type. θ is the greatest value that it has
    ever contained with a nonzero weight, so time never goes back. Before there is any, all rows with a timestamp are in
    the window, and rows later than θ always are; rows without a timestamp never are. `length` is in the unit of the
    column: days for dates, microseconds for timestamps. A negative length lets the window begin after θ.

    To use the latest row as the clock, give it a map of the rows to their timestamps.
    """

    column: str
    length: int

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        rows, clock = self.zsets(inputs, 2)
        type_ = rows.schema.types.get(self.column)
        if type_ not in TIMESTAMPS:
            kinds = ", ".join(str(t) for t in TIMESTAMPS)
            self.refuse(f"its first input needs a column {self.column} of one of the types {kinds}", inputs)
        if [column.type for column in clock.schema] != [type_]:
            self.refuse("its second input, the clock, must have one column of the timestamps' type", inputs)
        if depth:
            self.refuse("stands outside of every circuit with iterations; import its result into the body", inputs)
        return rows

    def begin(self, time: Any) -> Any:
        """θ − length for a time θ; None where there is no such time."""
        try:
            if isinstance(time, datetime):
                return time - timedelta(microseconds=self.length)
            return time - timedelta(days=self.length) if isinstance(time, date) else time - self.length
        except OverflowError:
            return None

    def arguments(self) -> str:
        return f"[{word(self.column)}, {self.length}]"


class WindowDelta(Operator):
    """The change of W(v, θ) from the changes Δv and Δθ; its state is the window's content and the time [DBSP §8.5].

    That is D(α) with α = W(Δv + z⁻¹(α), Δθ): time never goes back, so a row that left the window never returns, and
    the greatest value in the clock's changes is the greatest value in the clock.
    """

    window: Window

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        type_ = self.window.output(inputs, depth)
        assert isinstance(type_, ZSetType)
        return replace(type_, is_set=False)

    def arguments(self) -> str:
        return self.window.arguments()
