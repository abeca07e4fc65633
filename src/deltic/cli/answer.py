"""Results of SQL statements as tables and lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deltic.cli.progress import progress_for
from deltic.errors import count_of
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.rows.rows import Rows, is_number, value_text
from deltic.pipeline.session import Pipeline
from deltic.pipeline.sql.answers import TextAnswer
from deltic.sql.statements.parameters import Args
from deltic.why.explanation import shown

_SHOWN = 1000
_WIDE = 10_000
_NARROWEST = 8
"""Where columns would have fewer characters than that, each has a line of its own."""
_CHANGES = 10


Answer = Evolution | Transaction | Rows
"""What a statement gives."""


def run_text(
    pipeline: Pipeline,
    text: str,
    file: str,
    args: Args | None = None,
    each: Callable[[Pipeline, Answer], None] | None = None,
) -> None:
    """Run the statements of a text and print each result; `args` are parameters. Raises DelticError.

    `each` prints more of it.
    """
    results = pipeline.sql_results(text, args, file)
    while (result := _next(results)) is not None:
        print_answer(result)
        if each is not None:
            each(pipeline, result)


def _next(results: Iterator[Answer]) -> Answer | None:
    """Run the next statement, with its progress on a terminal; None after the last one."""
    with progress_for(quiet=False):
        return next(results, None)


def print_answer(result: Answer) -> None:
    """Print the rows of a question as a table, the text of EXPLAIN, or in one line what has changed."""
    if isinstance(result, TextAnswer) or not isinstance(result, Rows):
        print(result)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    if result.to_arrow().num_columns:
        is_wide = console.is_terminal and _NARROWEST * result.to_arrow().num_columns > console.width
        console.print(_records(result) if is_wide else _table(result))
    count = len(result)
    more = f", {_SHOWN:,} of them shown" if count > _SHOWN else ""
    print(f"{count_of(count, 'row')}{more}")


def print_changes(pipeline: Pipeline, result: Answer) -> None:
    """Print the first rows that a statement inserted into views or deleted from them."""
    if not isinstance(result, Transaction) or not result.is_committed:
        return
    for view in pipeline.views:
        change = result.of(view)
        for row, weight in islice(change, _CHANGES):
            times = f" × {abs(weight):,}" if abs(weight) > 1 else ""
            print(f"  {view} {'+' if weight > 0 else '−'} ({', '.join(map(shown, row))}){times}")
        if (more := len(change) - _CHANGES) > 0:
            print(f"  {view}: and {more:,} more rows")


def _table(rows: Rows) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for field in rows.to_arrow().schema:
        table.add_column(Text(field.name), justify="right" if is_number(field.type) else "left", overflow="fold")
    for row in islice(rows, _SHOWN):
        table.add_row(*_cells(row))
    return table


def _records(rows: Rows) -> Table:
    """Rows as records, one line for each column."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for number, row in enumerate(islice(rows, _SHOWN), 1):
        table.add_row(Text(f"row {number}", style="bold"))
        for name, cell in zip(rows.columns, _cells(row), strict=True):
            table.add_row(Text(name), cell)
    return table


def _cells(row: Iterable[Any]) -> list[Text]:
    return [Text("NULL", style="dim") if value is None else Text(value_text(value)) for value in row]
