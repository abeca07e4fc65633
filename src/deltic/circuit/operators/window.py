"""Windows that time drives: what is recent of a relation whose rows carry timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, ClassVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator
from deltic.values.types import Type
from deltic.values.words import word

TIMESTAMPS = (Type.INT64, Type.UINT64, Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)


@dataclass(frozen=True)
class Window(Operator):
    """W(v, θ): the rows of the first input whose timestamp is at least θ − `length` [DBSP §8.5].

    The second input is the clock, a relation of one column of the timestamps' type: θ is the greatest of all values
    that it has ever had with a weight other than zero, so time never goes back. Before there is any, and for rows later
    than θ, all rows are in the window; rows without a timestamp never are. `length` is in the unit of the column:
    days for dates, microseconds for timestamps. One below zero lets the window begin after θ.

    For the latest of the rows themselves as the clock, give it a map of the rows to their timestamps.
    """

    keyword: ClassVar[str] = "window"
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


@dataclass(frozen=True)
class WindowDelta(Operator):
    """The change of W(v, θ) from the changes Δv and Δθ: it keeps what is in the window, and the time [DBSP §8.5].

    That is D(α) with α = W(Δv + z⁻¹(α), Δθ): time never goes back, so what left the window is never in it again, and
    the greatest value that the clock's changes have had is the greatest that the clock has had.
    """

    keyword: ClassVar[str] = "window_delta"
    window: Window

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        type_ = self.window.output(inputs, depth)
        assert isinstance(type_, ZSetType)
        return replace(type_, is_set=False)

    def arguments(self) -> str:
        return self.window.arguments()
