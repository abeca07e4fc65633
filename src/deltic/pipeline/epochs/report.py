"""The report of an epoch, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from deltic.engine.executors.placed import Placed
from deltic.engine.lateness import LateRows
from deltic.engine.result import ComponentReport, EpochResult, Extension, StratumWork
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


@dataclass(frozen=True)
class EpochReport:
    """One epoch in numbers."""

    rows_in: int
    """The number of changed rows of all tables."""
    changed: Mapping[str, RowCounts] = field(default_factory=dict)
    """The views that changed."""
    seconds: float = 0.0
    """The time of the engine, without reading and writing of files and DataFrames."""
    rows_visited: int = 0
    """The rows and index entries that the engine visited: the main part of the cost."""
    components: tuple[ComponentReport, ...] = ()
    """The action for each affected recursion, and the reason."""
    extension: Extension | None = None
    """What was built, kept and dropped, if the epoch changed definitions."""
    epoch: int = 0
    """The number of the epoch; 0 where there was none."""
    late: tuple[LateRows, ...] = ()
    """The rows of tables that came too late and were left out, by table."""
    placement: Placed | None = None
    """Where the epoch ran, why, and the expected cost of each place; None if the engine has no choice."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """The seconds of each phase, in their order: lateness, moving (of the state, where it moves), encoding, evaluation,
    version, keys, application (what the caller did before it committed), log and publication. `seconds` is encoding,
    evaluation and version together."""
    bytes_read: int = 0
    """Bytes of files that a Spark job has read, where the epoch was one: of those that are mapped the pages that came,
    64 KiB to 2 MiB at a time, as far as the system tells."""
    bytes_written: int = 0
    """Bytes that Spark's jobs have put into files: what is new of the state, and large batches of rows on their way,
    those that tasks have read of DataFrames and sources among them."""
    work: tuple[StratumWork, ...] = ()
    """The cost of each stratum that the epoch reached, including hidden relations."""
    tables: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table changed."""
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
    changed = {name: RowCounts(*counts) for name, counts in result.changes.counts().items()}
    numbers = result.rows_in, changed, result.seconds, result.rows_visited
    return EpochReport(
        *numbers,
        result.components,
        result.extension,
        epoch,
        result.late,
        result.placement,
        result.phases,
        result.bytes_read,
        result.bytes_written,
        result.work,
        {table: rows for table, rows in result.tables.items() if rows},
        plan=None if result.decisions is None else tuple(map(str, result.decisions)),
    )


def _cells(component: ComponentReport) -> tuple[Any, ...]:
    """Return a recursion as a row of a table, with the reasons for its action and placement."""
    c, why = component, "; ".join(filter(None, (component.reason, component.way)))
    return _named(c), c.strategy, c.action, why, c.rows_visited, round(c.seconds, 6), c.state_bytes


def _named(component: ComponentReport) -> str:
    """Return the relations of a recursion, without those that the plan has added."""
    return ", ".join([name for name in component.relations if not name.startswith("%")] or component.relations)
