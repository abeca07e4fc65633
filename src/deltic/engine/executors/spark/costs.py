"""The cost of an epoch at each place where it can run: lines fitted to the costs of past epochs.

The *work* of an epoch is known before it runs: for each changed row, a constant for reading, sorting and writing it,
plus the fan-out of its table, the number of rows and index entries that the engine visits for it. The time is a
floor plus a slope times the work. Measurements correct both the fan-outs of the tables that changed and the line of the
place. Lines start with values measured on two cores (benchmarks/results/spark.txt); from the second epoch of a kind at
a place on, its own measurements outweigh these. Loads, which bring most of the rows, have lines and fan-outs of their
own, because they number texts and sort whole tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Literal

from deltic.engine.executors.placed import Place
from deltic.engine.image import Json

Kind = Literal["load", "update"]

ROW = 10.0
"""The fixed work of a changed row, in visited rows."""
FAN = 4.0
"""The fan-out of a table before any measurement."""
FEW = 1 << 16
"""The most work, or pending rows of a round, with which the driver's process is quicker than a job."""
BYTES = 100.0
"""The bytes of state for each row of a table, before any measurement."""

# The floor in seconds, and the seconds for each unit of work: of the driver, and of the tasks.
_PRIORS: dict[tuple[Place, Kind], tuple[float, float, float]] = {
    ("local", "update"): (0.7e-3, 50e-9, 0),
    ("local", "load"): (5e-3, 200e-9, 0),
    ("process", "update"): (1e-3, 130e-9, 0),
    ("process", "load"): (20e-3, 250e-9, 0),
    ("files", "update"): (0.2, 130e-9, 0),
    ("files", "load"): (0.2, 250e-9, 0),
    ("job", "update"): (1.2, 120e-9, 200e-9),
    ("job", "load"): (1.5, 300e-9, 400e-9),
}
# The seconds that each shard adds to the floor of an epoch in the driver's process.
_SHARD = 0.25e-3
# The least rate at which a line follows a measured error. The first measurement counts half, later ones less.
_RATE = 0.2
# The greatest factor between measured and expected cost that counts: the epoch may be an outlier.
_EXCEPTION = 8.0


@dataclass
class LinearCost:
    """The time as a floor plus a slope times the work, in seconds.

    A measurement multiplies each by a power of the ratio between measured and expected time, in proportion to its
    share of the expected time. So they stay positive: small epochs correct the floor, large ones the slope.
    """

    floor: float
    slope: float
    measured: int = 0
    """The number of epochs from which it has learned."""

    def seconds(self, work: float) -> float:
        """Return the expected time of this much work."""
        return self.floor + self.slope * work

    def follow(self, ratio: float) -> None:
        """Apply another line's error before the first measurement: machine and program are the same."""
        factor = min(max(ratio, 1 / _EXCEPTION), _EXCEPTION) ** _RATE
        self.floor, self.slope = self.floor * factor, self.slope * factor

    def learn(self, work: float, seconds: float) -> None:
        """Learn from a measurement."""
        expected = self.seconds(work)
        ratio = min(max(seconds / expected, 1 / _EXCEPTION), _EXCEPTION)
        self.measured += 1
        rate = max(_RATE, 1 / (1 + self.measured))
        self.floor *= ratio ** (rate * self.floor / expected)
        self.slope *= ratio ** (rate * self.slope * work / expected)


class Costs:
    """The costs of epochs, for a number of shards and of task `slots` that run at once."""

    def __init__(self, shards: int = 1, slots: int = 1) -> None:
        at_once = max(min(shards, slots), 1)
        self._lines = {
            (place, kind): LinearCost(floor + _SHARD * shards * (place == "process"), driver + tasks / at_once)
            for (place, kind), (floor, driver, tasks) in _PRIORS.items()
        }
        self.fans: dict[tuple[Kind, str], float] = {}
        """The rows visited for each changed row, by table."""
        self.row_bytes = BYTES
        """The bytes of state for each row of a table."""

    def work(self, kind: Kind, rows: Mapping[str, int]) -> float:
        """Return the work of an epoch that changes these numbers of rows of tables."""
        return sum(count * (ROW + self._fan(kind, table)) for table, count in rows.items())

    def place_of(self, place: Place, rows: Mapping[str, int]) -> Place:
        """Return where changes run that are small, if `place` is a job: in the driver's process, from files."""
        return "files" if place == "job" and self.is_small(rows) else place

    def is_small(self, rows: Mapping[str, int]) -> bool:
        """Return whether an update of these numbers of rows of tables costs less in the driver's process than a job."""
        work = self.work("update", rows)
        lines = self._lines["files", "update"], self._lines["job", "update"]
        here, by_job = (line.seconds(work) for line in lines)
        return work <= FEW and here <= by_job

    def seconds(self, place: Place, kind: Kind, rows: Mapping[str, int]) -> float:
        """Return the expected time of an epoch at a place."""
        return self._lines[place, kind].seconds(self.work(kind, rows))

    def learn(self, place: Place, kind: Kind, rows: Mapping[str, int], visited: int, seconds: float) -> None:
        """Learn from the cost of an epoch."""
        changed = {table: count for table, count in rows.items() if count}
        if not changed:
            return
        expected = sum(count * self._fan(kind, table) for table, count in changed.items())
        ratio = min(max(visited, 1) / expected, _EXCEPTION)
        for table in changed:
            self.fans[kind, table] = max(self._fan(kind, table) * max(ratio, 1 / _EXCEPTION) ** 0.5, 0.1)
        work = sum(changed.values()) * ROW + visited
        ratio = seconds / self._lines[place, kind].seconds(work)
        for (other, its_kind), line in self._lines.items():
            if (other, its_kind) == (place, kind):
                line.learn(work, seconds)
            elif not line.measured and place != "files":  # far files are slow for the driver's process alone
                line.follow(ratio)

    def _fan(self, kind: Kind, table: str) -> float:
        return self.fans.get((kind, table), FAN)

    def to_json(self) -> Json:
        """Return what was learned as JSON; `take` reads it."""
        lines = {f"{place} {kind}": astuple(line) for (place, kind), line in self._lines.items()}
        fans = [[kind, table, fan] for (kind, table), fan in self.fans.items()]
        return {"lines": lines, "fans": fans, "row bytes": self.row_bytes}

    def take(self, said: Json) -> None:
        """Take over what another object has learned, from its `to_json`."""
        # states that were written before "files" was a place have no such line
        lines = {key: said["lines"].get(" ".join(key)) for key in self._lines}
        self._lines |= {key: LinearCost(*line) for key, line in lines.items() if line is not None}
        self.fans = {(kind, table): fan for kind, table, fan in said["fans"]}
        self.row_bytes = said["row bytes"]
