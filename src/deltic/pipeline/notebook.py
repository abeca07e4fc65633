"""HTML of tables and facts, for notebooks; whatever was written by others is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from numbers import Number
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltic.engine.result import ComponentReport
    from deltic.pipeline.epochs.report import EpochReport
    from deltic.pipeline.reading.rows import Rows

_SHOWN = 20
_RIGHT = ' style="text-align: right"'
_LEFT = ' style="text-align: left"'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "", below: str = "") -> str:
    """A table with numbers to the right."""
    titles = "".join(f"<th{_LEFT}>{escape(title)}</th>" for title in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    above = f"<caption{_LEFT}>{escape(caption)}</caption>" if caption else ""
    under = f"<p>{escape(below)}</p>" if below else ""
    return f"<table>{above}<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>{under}"


def facts(of: Mapping[str, Any], caption: str = "") -> str:
    """A table of two columns."""
    lines = "".join(f"<tr><th{_LEFT}>{escape(name)}</th>{_cell(value)}</tr>" for name, value in of.items())
    above = f"<caption{_LEFT}>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<tbody>{lines}</tbody></table>"


def rows_table(rows: Rows) -> str:
    """The first rows, and how many there are."""
    found = rows.head(_SHOWN)
    count = rows.count()
    below = f"{count:,} row{'s' * (count != 1)}" + (f", {_SHOWN} of them shown" if count > _SHOWN else "")
    lists = [column.to_pylist() for column in found.columns]
    return table(found.column_names, islice(zip(*lists, strict=True), _SHOWN), below=below)


def report_table(report: EpochReport) -> str:
    """An epoch in numbers, the views that it changed, and what was done to recursions."""
    parts = [facts({name.replace("_", " "): number for name, number in report.facts.items()})]
    if report.changed:
        changed = [(view, f"+{c.inserted:,}", f"−{c.deleted:,}") for view, c in report.changed.items()]
        parts.append(table(("view", "came", "went"), changed))
    if report.late:
        late = [(each.table, each.count, f"{each.column} before {each.watermark}") for each in report.late]
        parts.append(table(("table", "late rows", "left out, with"), late))
    if report.phases:
        parts.append(table(("phase", "seconds"), report.phases.items()))
    if report.components:
        head = ("recursion", "strategy", "action", "reason", "rows visited", "seconds", "state, bytes")
        parts.append(
            table(
                head,
                [
                    (", ".join(c.relations), c.strategy, c.action, _why(c), c.rows_visited, c.seconds, c.state_bytes)
                    for c in report.components
                ],
            )
        )
    return "".join(parts)


def _why(component: ComponentReport) -> str:
    """Why a recursion was kept as it was, and where."""
    return "; ".join(filter(None, (component.reason, component.way)))


def _cell(value: Any) -> str:
    if value is None:
        return "<td><i>NULL</i></td>"
    if isinstance(value, bool) or not isinstance(value, Number):
        return f"<td{_LEFT}>{escape(str(value))}</td>"
    return f"<td{_RIGHT}>{value:,.6g}</td>" if isinstance(value, float) else f"<td{_RIGHT}>{value}</td>"
