"""Write the tables of functions into docs/sql-functions.md and docs/ddlog.md: names, what computes them, how fast.

Names and tiers are those of the registry; speeds those of benchmarks/results/tiers.txt, of which the slowest call of a
function counts. With `--check` nothing is written, and the exit status says whether names and tiers are up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from deltic.pipeline.registry import ListedFunction, listed

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "sql-functions.md"
PAGE_OF_DDLOG = ROOT / "docs" / "ddlog.md"
SPEEDS = ROOT / "benchmarks" / "results" / "tiers.txt"
BEGIN, END = "<!-- by scripts/function_table.py -->\n", "<!-- end -->\n"
HEADER = "| in SQL | in Soufflé | computed by | rows a second |\n|---|---|---|---|\n"


def speeds(text: str) -> dict[str, int]:
    """The rows a second of the slowest call of each function, by its name."""
    found: dict[str, int] = {}
    for name, speed in re.findall(r"^ *(\w+)\(.*\)  +\w+  +[\d.]+  +([\d,]+)  ", text, re.MULTILINE):
        rows = int(speed.replace(",", ""))
        found[name] = min(rows, found.get(name, rows))
    return found


def row(function: ListedFunction, reasons: list[str], known: dict[str, int]) -> str:
    """A row of the table."""
    names = (", ".join(f"`{name}`" for name in function.languages.get(own, ())) for own in ("SQL", "Soufflé"))
    notes = ", ".join(str(reasons.index(reason) + 1) for reason in function.reasons)
    tiers = ", ".join(function.tiers) + (f" [{notes}]" if notes else "")
    measured = [known[name] for name in function.languages.get("SQL", ()) if name in known]
    return f"| {' | '.join([*names, tiers, f'{min(measured):,}' if measured else ''])} |\n"


def table(known: dict[str, int]) -> Iterator[str]:
    """The table, and why Python computes some."""
    reasons = list(dict.fromkeys(reason for function in listed() for reason in function.reasons))
    yield HEADER
    for function in listed():
        if function.in_table:
            yield row(function, reasons, known)
    yield "\nWhy Python computes some:\n\n"
    yield from (f"{i}. {reason}\n" for i, reason in enumerate(reasons, 1))


def table_of_ddlog() -> Iterator[str]:
    """The functions that Python computes, by module, each with the one of SQL that means the same."""
    yield "| module | functions, with those of SQL that are the same |\n|---|---|\n"
    modules: dict[str, list[str]] = {}
    for function in listed():
        same = f" (`{function.languages['SQL'][0]}`)" if "SQL" in function.languages else ""
        for whole in function.languages.get("DDlog", ()):
            module, _, name = whole.rpartition("::")
            modules.setdefault(module, []).append(f"`{name}`{same}")
    yield from (f"| `{module}` | {', '.join(sorted(names))} |\n" for module, names in sorted(modules.items()))


def page(text: str, lines: Iterator[str]) -> str:
    """The page with its table as it is to be."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + "".join(lines) + "\n" + END + rest.partition(END)[2]


def main() -> int:
    """Writes or checks the page; the exit status is 1 when a check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if names or tiers are not up to date")
    known = speeds(SPEEDS.read_text(encoding="utf-8"))
    texts = {path: path.read_text(encoding="utf-8") for path in (PAGE, PAGE_OF_DDLOG)}
    written = {PAGE: page(texts[PAGE], table(known)), PAGE_OF_DDLOG: page(texts[PAGE_OF_DDLOG], table_of_ddlog())}
    if parser.parse_args().check:
        return int(any(without_speeds(texts[path]) != without_speeds(written[path]) for path in texts))
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    return 0


def without_speeds(text: str) -> str:
    """The page without the figures in its table."""
    return re.sub(r"\| [\d,]* \|$", "|  |", text, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
