"""Dependencies of the packages of a Debian system: `python examples/packages/packages.py [STATUS]`.

STATUS is a file as dpkg keeps it, /var/lib/dpkg/status if not given, or a list of packages of an archive.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import deltic

STATUS = Path("/var/lib/dpkg/status")
_TOP = """
    SELECT package FROM needs NATURAL JOIN wanted
    GROUP BY package ORDER BY count(*) DESC, package LIMIT 1"""
"""The package that nobody needs and that needs most others."""
_MOST = """
    SELECT `on`, count(*) AS n FROM needs WHERE `on` IN (SELECT package FROM depends)
    GROUP BY `on` ORDER BY n DESC, `on` LIMIT 1"""
"""The package with dependencies that most others need."""


def dependencies(status: str) -> set[tuple[str, str]]:
    """The pairs (package, what it depends on) of a file of packages; of alternatives the first that is there."""
    fields = [dict(_fields(paragraph)) for paragraph in status.split("\n\n") if paragraph.strip()]
    there = {field["Package"] for field in fields}
    provided = {name: field["Package"] for field in fields for name in _names(field.get("Provides", ""), ",")}
    pairs = set()
    for field in fields:
        for clause in f"{field.get('Pre-Depends', '')},{field.get('Depends', '')}".split(","):
            names = [provided.get(name, name) if name not in there else name for name in _names(clause, "|")]
            first = next((name for name in names if name in there and name != field["Package"]), None)
            pairs |= {(field["Package"], first)} if first else set()
    return pairs


def _fields(paragraph: str) -> Iterator[tuple[str, str]]:
    for line in re.sub(r"\n[ \t]+", " ", paragraph).splitlines():
        name, _, value = line.partition(":")
        yield name, value.strip()


def _names(text: str, separator: str) -> list[str]:
    return [found[0] for part in text.split(separator) if (found := re.match(r"[a-z0-9][a-z0-9+.-]+", part.strip()))]


def main(path: Path = STATUS) -> None:
    """Load the graph, and see what goes with a package that nobody needs, and with what another one depends on."""
    pairs = dependencies(path.read_text(encoding="utf-8"))
    pipeline = deltic.Pipeline()
    pipeline.datalog(Path(__file__).with_name("packages.dl").read_text(encoding="utf-8"))
    with pipeline.transaction() as change:
        change.insert("depends", pairs)
        change.insert("wanted", {(package,) for package, _ in pairs} - {(on,) for _, on in pairs})
    needs, circles = len(pipeline["needs"]), len(pipeline["circle"])
    print(f"{len(pairs):,} dependencies, {needs:,} with indirect ones, {circles} packages in circles")
    ((top,),) = pipeline.query(_TOP)
    print(pipeline.why("needs", {"package": top}))
    change = pipeline.execute("DELETE FROM wanted WHERE package = :package", {"package": top})
    gone = [row.package for row, weight in change.of("removable") if weight > 0]
    print(f"without {top} {len(gone):,} packages could go; {change.report.rows_visited:,} rows were visited for that")
    ((most, count),) = pipeline.query(_MOST)
    change = pipeline.execute("DELETE FROM depends WHERE package = :package", {"package": most})
    fewer = sum(weight < 0 for _, weight in change.of("needs"))
    print(f"{count:,} packages need {most}; had it no dependencies, {fewer:,} indirect ones would go")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
