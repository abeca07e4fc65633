"""Write the table of functions into docs/sql-functions.md, from the registry.

With `--check` nothing is written; the exit status is 1 when the page is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from deltic.pipeline.registry import TIERS, ListedFunction, listed

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "sql-functions.md"
BEGIN, END = "<!-- by scripts/function_table.py -->\n", "<!-- end -->\n"
HEADER = "| computed by | functions |\n|---|---|\n"


def computed_by(function: ListedFunction) -> tuple[int, str]:
    """The place in the table of a function: its slowest tier, and the first reason for Python."""
    place = TIERS.index(function.tiers[-1])
    return place, function.reasons[0] if TIERS[place] == "Python" else ""


def table() -> Iterator[str]:
    """The functions of SQL, a row for each tier, and in Python for each reason."""
    rows: dict[tuple[int, str], list[str]] = {}
    for function in listed():
        if "SQL" in function.languages:
            rows.setdefault(computed_by(function), []).extend(f"`{name}`" for name in function.languages["SQL"])
    yield HEADER
    for (place, reason), functions in sorted(rows.items()):
        yield f"| {TIERS[place]}{f': {reason}' if reason else ''} | {', '.join(functions)} |\n"


def page(text: str, lines: Iterator[str]) -> str:
    """The page with its table as it is to be."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + "".join(lines) + "\n" + END + rest.partition(END)[2]


def main() -> int:
    """Write or check the page; the exit status is 1 when a check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    text = PAGE.read_text(encoding="utf-8")
    written = page(text, table())
    if parser.parse_args().check:
        return int(text != written)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
