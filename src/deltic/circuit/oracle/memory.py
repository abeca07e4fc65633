"""The state of a delay: one value, or nested lists of values for the loops between its clock and itself [DBSP §10]."""

from __future__ import annotations

from typing import Any, TypeAlias

Time: TypeAlias = tuple[int, ...]
"""The step of the whole circuit and the iterations of the loops around a node, the outermost first."""


class IterationValues:
    """Values by the iterations of nested loops, as lists of lists; a single value for no loop.

    Past the end of a list its last element repeats: the loop no longer changes there.

    >>> lengths = IterationValues()
    >>> lengths.put((0, 0), "a"), lengths.put((0, 1), "b"), lengths.put((1, 0), "c")
    (None, None, None)
    >>> lengths.get((0, 7)), lengths.get((5, 5)), IterationValues().get((0,))
    ('b', 'c', None)
    """

    def __init__(self) -> None:
        self._values: Any = None

    def get(self, time: Time) -> Any:
        """Return the value at these iterations; None if there is none."""
        values = self._values
        for iteration in time:
            if values is None:
                return None
            values = values[min(iteration, len(values) - 1)]
        return values

    def put(self, time: Time, value: Any) -> None:
        """Store a value; iterations come in order."""
        if not time:
            self._values = value
            return
        if self._values is None:
            self._values = []
        values = self._values
        for iteration in time[:-1]:
            if iteration == len(values):
                values.append([])
            values = values[iteration]
        values[time[-1] :] = [value]


class DelayMemory:
    """The values of the previous step of a clock, while the current step stores its own.

    `clock` is the position of the clock in a time; the positions after it are iterations of loops within one step.
    """

    def __init__(self, clock: int) -> None:
        self.clock = clock
        self.reset(clock)

    def reset(self, level: int) -> None:
        """Forget everything when the circuit of the clock, or one around it, starts again."""
        if level <= self.clock:
            self._step: Time | None = None
            self._time: Time = ()
            self._before, self._now = IterationValues(), IterationValues()

    def advance(self, time: Time) -> None:
        """Set the current time."""
        step = time[: self.clock + 1]
        if step != self._step:
            self._step, self._before, self._now = step, self._now, IterationValues()
        self._time = time[self.clock + 1 :]

    def before(self, dropped: int = 0) -> Any:
        """Return the value stored one step of the clock ago; `dropped` innermost times are ignored."""
        return self._before.get(self._time[: len(self._time) - dropped])

    def put(self, value: Any, dropped: int = 0) -> None:
        """Store a value for the next step of the clock."""
        self._now.put(self._time[: len(self._time) - dropped], value)
