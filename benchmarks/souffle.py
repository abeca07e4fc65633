"""Programs of Soufflé as they are: run by `deltic run`, and compared with the rows that are expected, line by line.

`python benchmarks/souffle.py DIR` runs what is in a checkout's `tests/evaluation`, or in a folder like it: each folder
has a program of its own name, perhaps a folder `facts`, and the expected files. It tells of each program whether its
files are the same; what Deltic refuses is told with the first message. Names behind DIR choose programs. Seconds are
the processor's, so that other load on the machine has no part in them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from harness import report

from deltic.cli.main import app

MODULES = ("deltic.cli.run", "deltic.pipeline.job")
"""What a program needs beside `app`; it is there before the processes of programs begin."""

LIMIT = 60
"""Seconds after which a program has not finished."""

SLOW = 2.0
"""Seconds from which on a program is told though its files are the same."""


@dataclass(frozen=True)
class Verdict:
    """What came of a program: `same`, `differs`, `refused` or `not finished`, and why."""

    name: str
    kind: str
    seconds: float
    why: str = ""


def main() -> None:
    folder, chosen = Path(sys.argv[1]), sys.argv[2:]
    for module in MODULES:
        import_module(module)
    names = chosen or sorted(path.name for path in folder.iterdir() if (path / f"{path.name}.dl").exists())
    verdicts = [_run(folder / name) for name in names]
    counts = Counter(verdict.kind for verdict in verdicts)
    title = f"{len(names)} programs: " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    rows = [
        [v.name, v.kind, f"{v.seconds:.1f}", v.why] for v in verdicts if v.kind != "same" or v.seconds > SLOW or chosen
    ]
    if chosen:
        print(title, *("  ".join(row) for row in rows), sep="\n")
    else:
        report("souffle", title, ["program", "result", "s", "why"], rows)


def _run(folder: Path) -> Verdict:
    """A program's verdict, from a process of its own, which has the modules of Deltic from this one."""
    out = Path(tempfile.mkdtemp(prefix="souffle-"))
    before = _seconds()
    process = multiprocessing.get_context("fork").Process(target=_deltic, args=(folder, out))
    process.start()
    process.join()
    seconds = _seconds() - before
    try:
        if process.exitcode == -signal.SIGXCPU:
            return Verdict(folder.name, "not finished", seconds)
        errors = (out / "stderr").read_text()
        if process.exitcode:
            return Verdict(
                folder.name,
                "refused",
                seconds,
                next(iter(errors.replace(f"{folder}/", "").splitlines()), str(process.exitcode)),
            )
        why = "; ".join(_differences(folder, out))
        return Verdict(folder.name, "differs" if why else "same", seconds, why)
    finally:
        shutil.rmtree(out)


def _seconds() -> float:
    """What the processes of programs have taken of the processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _deltic(folder: Path, out: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
    facts = folder / "facts" if (folder / "facts").exists() else folder
    command = ["run", str(folder / f"{folder.name}.dl"), "--facts", str(facts), "--out", str(out)]
    with (
        (out / "stdout").open("w") as stdout,
        (out / "stderr").open("w") as stderr,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        app(command)


def _differences(folder: Path, out: Path) -> Iterator[str]:
    """What differs between the expected files and those that are there."""
    expected = {path.name for path in folder.glob("*.csv")}
    for name in sorted(expected | {path.name for path in out.glob("*.csv")}):
        there = [_lines(place / name) for place in (folder, out)]
        if there[0] != there[1]:
            yield f"{name}: {_difference(*there)}"
    for size in _lines(folder / f"{folder.name}.out") or []:
        if size not in (_lines(out / "stdout") or []):
            yield f"not printed: {size}"


def _lines(path: Path) -> list[str] | None:
    return sorted(path.read_text().splitlines()) if path.exists() else None


def _difference(expected: list[str] | None, found: list[str] | None) -> str:
    if expected is None or found is None:
        return "no such file is expected" if expected is None else "is missing"
    missing, beyond = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    shown = [f"{len(rows)} {word}, as {next(iter(rows))!r}" for word, rows in _named(missing, beyond) if rows]
    return " and ".join(shown)


def _named(missing: Counter[str], beyond: Counter[str]) -> Iterator[tuple[str, Counter[str]]]:
    yield "missing", missing
    yield "not expected", beyond


if __name__ == "__main__":
    main()
