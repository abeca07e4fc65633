"""What the demonstration prints: a table that grows by a row for each epoch, and sentences around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from deltic.demo.epochs import DemoEpoch, Medians
from deltic.demo.verify import ViewDifference
from deltic.pipeline.epochs.report import RowCounts

WIDE, _NARROW = 118, 100
_COLUMNS = {"epoch": 5, "rows in tables": 15, "rows in views": 17, "update": 9, "recompute": 9, "faster": 7}
_INDENT = " " * (_COLUMNS["epoch"] + 2)
_NO_BREAK = "\u00a0"
_ONLY_IF_WIDE = ("rows in tables", "rows in views")

_OPENING = (
    "A Datalog program derives from them, among other views:",
    "  loads         what importing a module executes          import_cycle  modules that import each other",
    "  affects       modules that a change to one can affect   subclass      the class hierarchy",
    "  calls         who calls whom, through imports and inheritance",
    "  reaches       functions that a test or program reaches  dead          functions that nothing reaches",
)
_BY_DELTIC = "After each edit Deltic updates all views; recomputing them from scratch is measured for comparison."
_BY_SPARK = "After each edit Deltic updates all views, on shards; for comparison Spark recomputes what its SQL can say,"


class Report:
    """Prints to a console: in colour and with a spinner on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = min(console.width, WIDE) if console.is_terminal else WIDE
        dropped = _ONLY_IF_WIDE if self._width < _NARROW else ()
        self._columns = {name: width for name, width in _COLUMNS.items() if name not in dropped}

    def say(self, text: str) -> None:
        """One sentence on a line of its own."""
        self._console.print(Text(text), soft_wrap=True)

    def opening(self, subject: str, files: int, edits: int, by_spark: Sequence[str] = ()) -> None:
        """What is about to happen; `by_spark` are the views that Spark recomputes, if it does."""
        self._console.print(Text(f"Deltic demo: {subject}, {files:,} Python files, {edits} edits of them.", "bold"))
        given = f"and is given the recursive ones below them: {', '.join(by_spark)}."
        for line in (*_OPENING, *([_BY_SPARK, given] if by_spark else [_BY_DELTIC])):
            self.say(line)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Shows, on a terminal only, what takes a while."""
        with self._console.status(text):
            yield

    def header(self) -> None:
        """The table's head."""
        self._console.print()
        self._row({name: name for name in _COLUMNS}, "edit", style="bold")
        self._console.print(Text("─" * self._width, style="dim"))

    def epoch(self, epoch: DemoEpoch) -> None:
        """An epoch: a row of the table, the change of each view, and what is worth telling about it."""
        cells = {
            "epoch": str(epoch.number),
            "rows in tables": _signed(epoch.rows_in),
            "rows in views": _signed(epoch.view_rows),
            "update": _seconds(epoch.update),
            "recompute": _seconds(epoch.recomputation),
            "faster": _ratio(epoch.ratio),
        }
        self._row(cells, epoch.words, style="bold" if epoch.number else "")
        views = "  ".join(_unbroken(f"{view} {_signed(counts)}") for view, counts in sorted(epoch.views.items()))
        self._detail(views or "no view changes", style="dim")
        for sentence in epoch.insights:
            self._detail(f"→ {sentence}", style="cyan")

    def medians(self, medians: Medians) -> None:
        """The summary over the edits of one file."""
        self.say(
            f"Edits of one file ({medians.edits}), medians: update {_seconds(medians.update)},"
            f" recomputation {_seconds(medians.recomputation)}, {_ratio(medians.ratio)} faster."
        )

    def differences(self, differences: list[ViewDifference]) -> None:
        """What the final check found wrong."""
        self._console.print(Text("The final check FAILED: views differ from recomputation.", style="bold red"))
        for result in differences:
            self.say(f"  {result}")

    def _row(self, cells: dict[str, str], words: str, style: str) -> None:
        room = self._width - sum(width + 1 for width in self._columns.values()) - 1
        (first, first_width), *others = self._columns.items()
        line = Text(f"{cells[first]:>{first_width}}  ")
        line.append(f"{_clipped(words, room):<{room}}", style=style)
        for name, width in others:
            line.append(f" {cells[name]:>{width}}")
        self._console.print(line, soft_wrap=True)

    def _detail(self, text: str, style: str) -> None:
        for line in wrap(text, self._width, initial_indent=_INDENT, subsequent_indent=_INDENT):
            self._console.print(Text(line.replace(_NO_BREAK, " "), style), soft_wrap=True)


def _unbroken(text: str) -> str:
    return text.replace(" ", _NO_BREAK)


def _signed(counts: RowCounts) -> str:
    """`+12 −3`, with the side left out that is zero."""
    parts = [f"{sign}{n:,}" for sign, n in (("+", counts.inserted), ("−", counts.deleted)) if n]
    return " ".join(parts) or "0"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
