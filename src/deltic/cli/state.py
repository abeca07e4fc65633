"""`deltic status`, `verify` and `compact`: show, check and rewrite a directory of state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.filesize import pick_unit_and_suffix

from deltic.cli.report import print_error, print_table
from deltic.errors import DelticError
from deltic.pipeline.connectors.quarantine import failed_sources, is_failure
from deltic.pipeline.durability.status import KeptRelation, Status, status_of


def status_command(place: str, as_json: bool) -> None:
    """Print the contents of a state directory."""
    result = status_of(place)
    if as_json:
        failed = {name: asdict(failure) for name, failure in failed_sources(result.positions).items()}
        print(json.dumps({**asdict(result), "failed": failed}, indent=2, ensure_ascii=False))
    else:
        _print_status(result)


def _print_status(found: Status) -> None:
    made = found.checkpoint
    message = (
        f"checkpoint {made['number']} at epoch {made['epoch']:,}, {made['written']}" if made else "no checkpoint yet"
    )
    print(f"{found.place}: epoch {found.epoch:,}{f', token {found.token!r}' if found.token else ''}")
    print(f"{message}; after it {found.log_records:,} records of the log, {size(found.log_bytes)}")
    if found.retained:
        print(f"checkpoints that are kept: of epochs {', '.join(f'{epoch:,}' for epoch in found.retained)}")
    for name, failure in failed_sources(found.positions).items():
        print(f"source of {name}: {failure}")
    for name, position in found.positions.items():
        if not is_failure(name):
            print(f"position of {name}: {_shown(position)}")
    print(f"files: {size(found.file_bytes)}, of which texts and the like {size(found.text_bytes)}")
    print(f"run files: {size(found.run_bytes)}, of which {size(found.used_bytes)} are in use")
    if found.relations:
        print_table(_TITLES, _relations(found.relations), ("name", "kind", "arrangement"))


def _shown(position: Any) -> str:
    """Return a position in one line: how many files a source has read, the version of a table, or a greatest value."""
    at = position["at"] if isinstance(position, dict) and "at" in position else position
    if not isinstance(at, dict):
        return "the beginning" if at is None else str(at)
    return ", ".join(f"{name}: {len(of) if isinstance(of, dict | list) else of}" for name, of in at.items())


_TITLES = ("name", "kind", "rows", "size", "arrangement", "size of it")


def _relations(relations: list[KeptRelation]) -> Iterator[tuple[str, ...]]:
    for kept in relations:
        first = (kept.name, kept.kind, f"{kept.rows:,}", size(kept.bytes))
        for use, taken in kept.arrangements.items() or [("", 0)]:
            yield (*first, use, size(taken))
            first = ("", "", "", "")


def verify_command(place: str, full: bool, sample: int, is_repair: bool, as_json: bool) -> int:
    """Compare checksums, and views on request; repair on request; return the exit status."""
    from deltic.pipeline.verifying import repair, verify

    result = (repair if is_repair else verify)(place, full, sample)
    if as_json:
        print(json.dumps({"ok": not result.wrong, **asdict(result)}, indent=2, ensure_ascii=False))
    else:
        for wrong in result.wrong:
            print_error(DelticError(wrong))
        for repaired in result.repaired:
            print(f"repaired: {repaired}")
        views = f"; compared with recomputation: {', '.join(result.views)}" if result.views else ""
        pieces = f"{result.pieces:,} pieces of {size(result.bytes)}"
        print(f"{pieces} and {result.records:,} records of the log checked{views}")
        for view, tables in result.forgotten.items():
            print(f"not compared: {view}, since rows of {', '.join(tables)} were forgotten before their watermarks")
        print("everything is intact" if not result.wrong else f"{len(result.wrong):,} findings")
    return 1 if result.wrong and not result.repaired else 0


def compact_command(place: str) -> None:
    """Rewrite a state in as few files as possible."""
    from deltic.pipeline.verifying import compact

    before, after = compact(place)
    print(f"{place}: {size(before)} before, {size(after)} now")


def size(count: int) -> str:
    """Return a number of bytes as text for people."""
    unit, name = pick_unit_and_suffix(count, ["bytes", "KiB", "MiB", "GiB"], 1024)
    return f"{count:,} bytes" if unit == 1 else f"{count / unit:,.1f} {name}"
