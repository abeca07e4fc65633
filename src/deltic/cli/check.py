"""`deltic check`: compare the costs of a program with a checked-in file, for reviews and CI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

from deltic.calculus.incrementalize import fallbacks
from deltic.cli.options import CheckOptions
from deltic.cli.report import print_table
from deltic.errors import DataError, DelticError, Diagnostic, StateError, count_of
from deltic.pipeline.definitions.front_ends import front_end_of
from deltic.pipeline.io.splits import ArrowReader
from deltic.pipeline.io.target import ArrowWriter
from deltic.pipeline.job.job import JobSettings, load_program, run
from deltic.pipeline.job.outcome import JobProgress
from deltic.pipeline.session import Pipeline

_TOLERANCE = 0.1
"""A count passes when it grew by no more than this part of itself."""


@dataclass(frozen=True)
class ProgramCosts:
    """The costs of a program: counts, which are the same on every machine, and seconds, which are not."""

    incremental: dict[str, bool]
    """For each view, whether a change of its tables is all that is computed for it."""
    visited: dict[str, float] = field(default_factory=dict)
    """For each epoch, the rows visited for each row of a table that changed."""
    entries: dict[str, int] = field(default_factory=dict)
    """For each relation of the plan, the entries that it keeps in all orders."""
    seconds: dict[str, float] = field(default_factory=dict)
    """For each epoch, the time of the engine."""


@dataclass(frozen=True)
class Difference:
    """A cost before and after; None where it did not exist."""

    what: str
    before: float | None
    now: float | None
    fails: bool


def check_command(options: CheckOptions) -> int:
    """Measure, print the differences from the file, and return the exit status: 1 where a cost is higher.

    With `update`, write the measured costs to the file.
    """
    place = options.file or options.program.with_suffix(".costs.json")
    costs = _measured(options)
    if options.update:
        place.write_text(json.dumps(asdict(costs), indent=2, sort_keys=True) + "\n", encoding="utf-8")
        views, epochs = count_of(len(costs.incremental), "view"), count_of(len(costs.visited), "epoch")
        print(f"{place} has the costs of {views} and {epochs}")
        return 0
    result = list(differences(_read(place), costs, options.slower))
    if result:
        rows = ([d.what, _shown(d.before), _shown(d.now), "too high" if d.fails else ""] for d in result)
        print_table(("cost", "before", "now", ""), rows, ("cost", ""))
    failed = sum(each.fails for each in result)
    print(f"{failed} of {len(result)} differences from {place} are too high" if failed else f"no cost is above {place}")
    return 1 if failed else 0


def differences(before: ProgramCosts, now: ProgramCosts, slower: float | None = None) -> Iterator[Difference]:
    """Yield the differences; one is a failure where a view is no longer incremental, or a count grew by more than a
    tenth.

    Seconds fail where they are more than `slower` times those before; None: never.
    """
    for view, is_incremental in now.incremental.items():
        was = before.incremental.get(view)
        if was is not is_incremental:
            yield Difference(f"view {view}: incremental", was, is_incremental, bool(was) and not is_incremental)
    yield from (
        Difference(f"view {view}: incremental", True, None, False)
        for view in before.incremental.keys() - now.incremental.keys()
    )
    yield from _grown("rows visited for each changed row", before.visited, now.visited)
    yield from _grown("entries kept", before.entries, now.entries)
    yield from _grown("seconds", before.seconds, now.seconds, slower)


def _grown(
    what: str, before: Mapping[str, float], now: Mapping[str, float], most: float | None = 1 + _TOLERANCE
) -> Iterator[Difference]:
    for name in sorted(before.keys() | now.keys()):
        was, is_now = before.get(name), now.get(name)
        if was != is_now:
            fails = most is not None and was is not None and is_now is not None and is_now > was * most
            yield Difference(f"{name}: {what}", was, is_now, fails)


def _measured(options: CheckOptions) -> ProgramCosts:
    """Measure a program over facts or a copy of a state, and over changes if there are any."""
    program, facts, state, text = options.program, options.facts, options.state, options.by.text
    if state is not None and facts is not None:
        raise DelticError("rows come from --facts or from --state: leave one of them out")
    directories = tuple(text.include_dir or ())
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        kept = None if state is None else _copied(state, scratch / "state")
        with Pipeline(state=kept, functions=text.functions or (), pragmas=text.pragmas) as pipeline:
            if facts is None and not pipeline.epoch:
                load_program(program, front_end_of(program, options.by.language), pipeline, text.macros, directories)
                return ProgramCosts(_incremental(pipeline))
            nowhere = scratch / "facts"
            nowhere.mkdir()
            settings = JobSettings(
                program,
                facts or nowhere,
                options.changes,
                scratch / "out",
                macros=text.macros,
                missing_is_empty=True,
                text=options.by.written.form,
                language=options.by.language,
                directories=directories,
            )
            outcome = run(settings, pipeline, ArrowReader(), ArrowWriter(), JobProgress())
            if outcome.failure is not None:
                raise outcome.failure
            reports = {done.name: done.report for done in outcome.epochs}
            visited = {name: round(each.rows_visited / max(1, each.rows_in), 2) for name, each in reports.items()}
            entries = Counter[str]()
            for size in pipeline.sizes():
                entries[size.relation] += size.entries
            seconds = {name: round(each.seconds, 3) for name, each in reports.items()}
            return ProgramCosts(_incremental(pipeline), visited, dict(entries), seconds)


def _copied(state: Path, place: Path) -> Path:
    """Copy a state directory, so that changes can be applied to the copy."""
    if not any(state.iterdir()):
        raise StateError(f"{state} has no state: `deltic run --state` and Pipeline(state=…) make one")
    return copytree(state, place)


def _incremental(pipeline: Pipeline) -> dict[str, bool]:
    return {view: not any(fallbacks(pipeline.circuit(view))) for view in sorted(pipeline.views)}


def _read(place: Path) -> ProgramCosts:
    try:
        return ProgramCosts(**json.loads(place.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise DataError([Diagnostic("there is no such file", str(place), hint="--update writes it")]) from None
    except (ValueError, TypeError) as error:
        raise DataError(
            [Diagnostic(f"the file has no costs: {error}", str(place), hint="--update writes it")]
        ) from None


def _shown(value: float | None) -> str:
    if value is None:
        return "–"
    return ("no", "yes")[value] if isinstance(value, bool) else f"{value:,}"
