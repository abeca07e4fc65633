"""The report of an epoch, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate
from typing import Any

from deltic.engine.result import ComponentReport, EpochNumbers, EpochResult
from deltic.errors import count_of
from deltic.html import facts, table
from deltic.pipeline.io.rounding import RoundedValues

_LINE, _VIEWS = 120, 60
"""The characters of a line, and of the views in the first one."""


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows that an epoch added to and removed from a view."""

    inserted: int
    deleted: int

    def __str__(self) -> str:
        return f"+{self.inserted:,} −{self.deleted:,}"


@dataclass
class EpochReport(EpochNumbers):
    """One epoch in numbers."""

    epoch: int = 0
    """The number of the epoch; 0 where there was none."""
    changed: Mapping[str, RowCounts] = field(default_factory=dict)
    """The views that changed."""
    rounded: Mapping[str, RoundedValues] = field(default_factory=dict)
    """The values that `coerce=True` has rounded, by "table.column"."""
    plan: tuple[str, ...] | None = None
    """What the new plan stores in addition to the program's relations, and why; None if the plan is the old one."""

    @property
    def rows_late(self) -> int:
        """The number of late rows."""
        return sum(each.count for each in self.late)

    @property
    def rows_out(self) -> int:
        """The number of added and removed rows of views."""
        return sum(c.inserted + c.deleted for c in self.changed.values())

    @property
    def total_seconds(self) -> float:
        """The seconds from the change to its publication: all phases, the log included."""
        return sum(self.phases.values()) or self.seconds

    @property
    def facts(self) -> dict[str, int | float]:
        """The numbers by name."""
        names = ("epoch", "rows_in", "rows_late", "rows_visited", "bytes_read", "bytes_written", "rows_out")
        return {name: getattr(self, name) for name in names} | {"seconds": round(self.seconds, 6)}

    def _repr_html_(self) -> str:
        parts = [facts({name.replace("_", " "): number for name, number in self.facts.items()})]
        if self.changed:
            changed = [(view, f"+{c.inserted:,}", f"−{c.deleted:,}") for view, c in self.changed.items()]
            parts.append(table(("view", "came", "went"), changed))
        if self.late:
            late = [(each.table, each.count, f"{each.column} before {each.watermark}") for each in self.late]
            parts.append(table(("table", "late rows", "left out, with"), late))
        if self.rounded:
            rounded = [(column, each.count, each.before, each.after) for column, each in self.rounded.items()]
            parts.append(table(("column", "values rounded", "such as", "to"), rounded))
        if self.phases:
            phases = {phase: round(1000 * seconds, 3) for phase, seconds in self.phases.items()}
            parts.append(table(("phase", "milliseconds"), phases.items()))
        if self.plan:
            parts.append(table(("the new plan also stores",), [(each,) for each in self.plan]))
        if self.components:
            head = ("recursion", "strategy", "action", "reason", "rows visited", "seconds", "state, bytes")
            parts.append(table(head, map(_cells, self.components)))
        return "".join(parts)

    def __repr__(self) -> str:
        numbers = f"{count_of(self.rows_in, 'row')} in, {self.rows_visited:,} visited, {self.seconds:.3f} s"
        files = f", {self.bytes_read:,} bytes read, {self.bytes_written:,} written" if self.bytes_written else ""
        parts = [
            f"{_fitting([f'{name} {changed}' for name, changed in self.changed.items()])} ({numbers}{files})",
            *(f"left out: {each}" for each in self.late),
            *(f"{column}: {each}" for column, each in self.rounded.items()),
            *([str(self.extension)] if self.extension else []),
            *([f"ran {self.placement.summary}"] if self.placement else []),
            *(f"{_named(c)} {c.way}" for c in self.components if c.way),
            *([f"the new plan also stores {'; '.join(self.plan)}"] if self.plan else []),
        ]
        line = "; ".join(parts)
        return line if len(line) <= _LINE else ";\n  ".join(parts)


def _fitting(views: Sequence[str]) -> str:
    """Return the changes of as many views as fit a line, and the number of the others."""
    if not views:
        return "no view changed"
    ends = accumulate(len(view) + len("; ") for view in views)
    shown = max(1, sum(end <= _VIEWS for end in ends))
    left = len(views) - shown
    return "; ".join(views[:shown]) + (f" and {count_of(left, 'other view')}" if left else "")


def report_of(result: EpochResult, epoch: int) -> EpochReport:
    """Return the numbers of an engine's result."""
    numbers = {each.name: getattr(result, each.name) for each in fields(EpochNumbers)}
    numbers["tables"] = {table: rows for table, rows in result.tables.items() if rows}
    changed = {name: RowCounts(*counts) for name, counts in result.changes.counts().items()}
    plan = None if result.decisions is None else tuple(map(str, result.decisions))
    return EpochReport(epoch, changed, plan=plan, **numbers)


def _cells(component: ComponentReport) -> tuple[Any, ...]:
    """Return a recursion as a row of a table, with the reasons for its action and placement."""
    c, why = component, "; ".join(filter(None, (component.reason, component.way)))
    return _named(c), c.strategy, c.action, why, c.rows_visited, round(c.seconds, 6), c.state_bytes


def _named(component: ComponentReport) -> str:
    """Return the relations of a recursion, without those that the plan has added."""
    return ", ".join([name for name in component.relations if not name.startswith("%")] or component.relations)
