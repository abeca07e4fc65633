"""Chooses where the next epoch runs: the fastest place with enough memory in the driver, including the cost of a move.

A state has a *home*: the local engine, or shards, whose epochs run in the driver's process or as one Spark job. An
epoch runs at home, unless the state outgrows the driver's memory, or another home is cheaper. A move costs as much
as recomputing the views, so it must pay: the state moves once the total excess cost of staying, since the last move,
exceeds the cost of a move (the ski rental rule). So a state does not move back and forth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from deltic.engine.executors.placed import TOLD, Expected, Place, Placed
from deltic.engine.executors.spark.costs import Costs, Kind

ShardPlace = Literal["process", "job"]
"""Where an epoch of shards can run."""
Home = Literal["local", "shards"]

# The least saving of another home beyond the cost of the move, in seconds, and as a share of an epoch's time.
_LEAST, _MATTERS = 1.0, 0.25
# The share of the memory into which a state must fit to return to the local engine.
_ROOM = 0.5


def home_of(place: Place) -> Home:
    """Return the home of a place."""
    return "local" if place == "local" else "shards"


@dataclass(frozen=True)
class HeldState:
    """The state before an epoch: its home, the rows of tables, the bytes of state, and those in the driver."""

    home: Home
    rows: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0
    resident: int = 0


class Placement:
    """Decides between `places`; `memory` is the most bytes of state in the driver, None for no limit."""

    def __init__(
        self,
        places: Sequence[Place] = ("local", "process", "job"),
        memory: int | None = None,
        costs: Costs | None = None,
    ) -> None:
        self.places, self.memory, self.costs = tuple(places), memory, costs or Costs()
        self.regret = 0.0
        """The total seconds by which staying has exceeded the expected cost of the other home since the last move."""

    def choose(self, changed: Mapping[str, int], held: HeldState, barred: Mapping[Home, str]) -> Placed:
        """Choose the place of an epoch that changes these numbers of rows of tables.

        `barred` are homes that cannot take the state over, with the reason. The present home continues then.
        """
        places = [p for p in self.places if home_of(p) == held.home or home_of(p) not in barred]
        expected = {self.costs.place_of(place, changed): self._expected(place, changed, held) for place in places}
        but = "".join(f"; not {TOLD[p]}: {barred[home_of(p)]}" for p in self.places if p not in places)
        place, reason = self._chosen(expected, held)
        return Placed(place, reason + but, expected)

    def _chosen(self, expected: Mapping[Place, Expected], held: HeldState) -> tuple[Place, str]:
        if len(self.places) == 1:
            return next(iter(expected)), "it was chosen for all epochs"
        fitting = {place: cost for place, cost in expected.items() if self._fits(place, cost, held)}
        if not fitting:
            least = min(expected, key=lambda place: (expected[place].bytes, expected[place].seconds))
            return least, f"the driver is to hold {self.memory:,} bytes, and nowhere would hold less"
        there = _quickest({p: cost for p, cost in fitting.items() if home_of(p) == held.home})
        other = _quickest({p: cost for p, cost in fitting.items() if home_of(p) != held.home})
        if there is None or other is None:
            place = there or other
            assert place is not None
            return place, self._only(place, expected, fitting)
        return self._weighed(there, other, expected, is_empty=not any(held.rows.values()))

    def _only(self, place: Place, expected: Mapping[Place, Expected], fitting: Mapping[Place, Expected]) -> str:
        """Explain why an epoch runs at the fastest place of one home."""
        quicker = [p for p, cost in expected.items() if p not in fitting and cost.seconds < expected[place].seconds]
        if quicker:
            held = expected[quicker[0]].bytes
            return f"the driver is to hold {self.memory:,} bytes, and {TOLD[quicker[0]]} it would hold {held:,}"
        return _QUICKEST

    def _weighed(
        self, there: Place, other: Place, expected: Mapping[Place, Expected], is_empty: bool
    ) -> tuple[Place, str]:
        """Choose between the best place at home and the best one elsewhere."""
        gain = expected[there].seconds - expected[other].seconds
        if 0 < gain < _MATTERS * expected[there].seconds:
            gain = 0.0
        if is_empty:
            return (other if gain > 0 else there), _QUICKEST
        self.regret = max(0.0, self.regret + gain)
        if self.regret > expected[other].moving + _LEAST:
            message = (
                f"since the last move, staying has cost {self.regret:.3g} s more than this, and the move costs less"
            )
            self.regret = 0.0
            return other, message
        if gain > 0:
            return there, f"{TOLD[other]} it would be quicker, but not by as much as the move there costs"
        return there, _QUICKEST

    def _expected(self, place: Place, changed: Mapping[str, int], held: HeldState) -> Expected:
        there, kind = self.costs.place_of(place, changed), kind_of(changed, held.rows)
        is_home = home_of(place) == held.home or not any(held.rows.values())
        moving = 0.0 if is_home else self.costs.seconds(place, "load", held.rows)
        growth = int(sum(changed.values()) * self.costs.row_bytes)
        kept = 0 if place == "job" else held.resident if home_of(place) == held.home else held.bytes
        seconds = self.costs.seconds(there, kind, changed)
        return Expected(seconds, 0 if place == "job" else kept + growth, moving)

    def _fits(self, place: Place, cost: Expected, held: HeldState) -> bool:
        if self.memory is None:
            return True
        is_back = place == "local" and held.home == "shards"
        return cost.bytes <= (self.memory * _ROOM if is_back else self.memory)


_QUICKEST = "it is expected to be the quickest"


def kind_of(changed: Mapping[str, int], held: Mapping[str, int]) -> Kind:
    """Return "load" if the changes bring most of the rows, else "update"."""
    return "load" if sum(changed.values()) > sum(held.values()) else "update"


def _quickest(expected: Mapping[Place, Expected]) -> Place | None:
    return min(expected, key=lambda place: expected[place].seconds, default=None)
