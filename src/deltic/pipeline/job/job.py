"""A program over files: load the facts, apply the changes epoch by epoch, write the views and what changed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deltic.engine.conflicts import Conflicts
from deltic.errors import ChangeError, DataError, DelticError, count_of
from deltic.pipeline.definitions.front_end import FrontEnd
from deltic.pipeline.definitions.front_ends import DATALOG, front_end_of
from deltic.pipeline.io.changes import EpochFiles, epochs
from deltic.pipeline.io.directives import PLAIN, Interface, TextForm, catalog_interface, check_inside, interface
from deltic.pipeline.io.loader import Loader, Rejects, RowReader
from deltic.pipeline.io.locate import TableFiles, locate, missing
from deltic.pipeline.io.target import Format, Writer, view_target
from deltic.pipeline.job.outcome import EpochDone, EpochRejected, JobOutcome, JobProgress
from deltic.pipeline.job.publisher import Publisher
from deltic.pipeline.session import Pipeline

INITIAL = "initial"
POSITION = "deltic run"
"""The name of the position that says which epoch was applied last."""


@dataclass(frozen=True)
class JobSettings:
    """What to read and what to write.

    Malformed rows stop the run, or with `reject_limit` this many of them are left out. With `missing_is_empty` a table
    whose file of facts is not there has no rows at first.
    """

    program: Path
    facts: Path
    changes: Path | None
    out: Path
    format: Format | None = None
    reject_limit: int | None = None
    conflicts: Conflicts = "error"
    macros: Mapping[str, str] = field(default_factory=dict)
    missing_is_empty: bool = False
    text: TextForm = PLAIN
    """How the delimited text of tables without `.input` is written."""
    allow_outside: bool = False
    """Whether the program may name files outside of `facts` and `out`."""
    on_stdout: bool = False
    """Whether every view that would be written to a file is printed, below the names of its columns."""
    language: str = ""
    """That of the program, where the end of its file's name does not tell it."""
    directories: tuple[Path, ...] = ()
    """Where modules that the program imports are sought, beside its own."""


def run(settings: JobSettings, pipeline: Pipeline, reader: RowReader, writer: Writer, watch: JobProgress) -> JobOutcome:
    """Run a program to its last epoch, or to the first one that is rejected: then the outcome has a failure.

    Raises ProgramError or DataError when the program, the facts or the names of the changes' files are wrong;
    then nothing is written.
    """
    with watch.step(f"compiling {settings.program}"):
        front = front_end_of(settings.program, settings.language)
        evolution = load_program(settings.program, front, pipeline, settings.macros, settings.directories)
        if not settings.allow_outside:
            check_inside(pipeline.checked.directives, settings.facts, None if settings.on_stdout else settings.out)
        files = _interface(front, pipeline).reading(settings.text)
    if settings.on_stdout:
        printed = tuple(replace(output, device="stdout", headers=True) for output in files.outputs)
        files = replace(files, outputs=printed)
    initial = EpochFiles(INITIAL, tuple(_facts(files, settings.facts, settings.missing_is_empty)))
    following = epochs(settings.changes, files.inputs) if settings.changes else []
    _refuse_overwriting([*initial.files, *(result for epoch in following for result in epoch.files)], files, settings)
    rejects = Rejects(settings.out / "rejects", {source.name for source in files.inputs}, settings.reject_limit or 0)
    job = _Job(
        files,
        pipeline,
        Loader(reader, None if settings.reject_limit is None else rejects),
        Publisher(writer, files.outputs, settings.out, settings.format),
        rejects,
        watch,
    )
    watch.expect(1 + len(following))
    job.outcome.notes += [finding.render() for finding in pipeline.checked.warnings]
    if evolution:
        job.outcome.notes.append(f"another program than before: {evolution}")
    job.load(initial)
    job.follow(following, settings.conflicts)
    job.finish()
    return job.outcome


def load_program(
    program: Path, front: FrontEnd, pipeline: Pipeline, macros: Mapping[str, str], directories: Sequence[Path] = ()
) -> str:
    """Define the program of a file in a pipeline, and return a text that lists changes of earlier definitions.

    `macros` are defined before it; imported modules are in the directories. Raises ProgramError where the program is
    wrong, DataError where it is not text.
    """
    is_new = not len(pipeline)
    evolution = pipeline.redefine(program, macros, front.name, directories if front.has_imports else ())
    differs = evolution.added or evolution.replaced or evolution.dropped
    return str(evolution) if differs and not is_new else ""


def load_facts(
    front: FrontEnd, facts: Path, text: TextForm, pipeline: Pipeline, reader: RowReader, allow_outside: bool
) -> None:
    """Load the facts of a program into a pipeline; raises DataError where they are wrong."""
    if not allow_outside:
        check_inside(pipeline.checked.directives, facts, None)
    files = _interface(front, pipeline).reading(text)
    tables = Loader(reader, None).load(_facts(files, facts, missing_is_empty=False))
    with pipeline.transaction("normalize") as change:
        for table, rows in tables.items():
            change.insert(table, rows)


def _interface(front: FrontEnd, pipeline: Pipeline) -> Interface:
    """Return the inputs and outputs of a program; Datalog declares them by directives."""
    return interface(pipeline.checked) if front is DATALOG else catalog_interface(pipeline.catalog)


def _facts(files: Interface, folder: Path, missing_is_empty: bool) -> list[TableFiles]:
    """Return the files of the initial rows; raises DataError for `.input` tables without a file, unless allowed."""
    result = {source: locate(source, folder) for source in files.inputs}
    absent = [source for source, located in result.items() if source.required and located is None]
    if absent and not missing_is_empty:
        raise DataError([finding for source in absent for finding in missing(source, folder).diagnostics])
    return [located for located in result.values() if located is not None]


def _refuse_overwriting(read: Sequence[TableFiles], files: Interface, settings: JobSettings) -> None:
    """Raise DelticError where an output would overwrite an input file."""
    inputs = {path.resolve() for result in read for path in [*result.paths, *(p.parent for p in result.paths)]}
    for output in files.outputs:
        if output.device != "file":
            continue
        path = view_target(output, settings.out, settings.format).path
        if path.resolve() in inputs:
            raise DelticError(f"{output.name} would be written over {path}, which is read; choose another --out")


class _Job:
    """The epochs of one run, one after the other."""

    def __init__(
        self,
        files: Interface,
        pipeline: Pipeline,
        loader: Loader,
        publisher: Publisher,
        rejects: Rejects,
        watch: JobProgress,
    ) -> None:
        self._pipeline, self._loader, self._publisher = pipeline, loader, publisher
        self._rejects, self._watch = rejects, watch
        self._sizes = files.sizes
        self.outcome = JobOutcome(tuple(name for name in files.watched if name in pipeline.views))
        self._last: str | None = pipeline.positions.get(POSITION)

    def load(self, initial: EpochFiles) -> None:
        """The first epoch, unless the state has it."""
        if self._last is not None:
            self.outcome.notes.append(f"the state continues after {self._last}; what came before is not read again")
        else:
            self._apply(initial, "normalize", is_first=True)

    def follow(self, following: Sequence[EpochFiles], conflicts: Conflicts) -> None:
        """Apply the epochs of changes, up to the first rejected one."""
        behind = self._behind([epoch.name for epoch in following])
        for epoch in following[behind:]:
            try:
                self._apply(epoch, conflicts)
            except (DataError, ChangeError) as error:
                self.outcome.failure = EpochRejected(epoch.name, self._last or INITIAL, error)
                return

    def _behind(self, names: Sequence[str]) -> int:
        """Return the number of epochs that the state already has; raises DelticError where its last is none of them."""
        if self._last in (None, INITIAL) or not names:
            return 0
        if self._last not in names:
            raise DelticError(
                f"the state continues after the changes {self._last}, which are not among those of --changes: "
                f"{', '.join(names)}; give the folder that has them, or leave it out"
            )
        return names.index(self._last) + 1

    def finish(self) -> None:
        """Write the views."""
        started = time.perf_counter()
        with self._watch.step("writing the views"):
            self.outcome.written += self._publisher.write_views(self._pipeline)
        self.outcome.sizes = {name: len(self._pipeline[name]) for name in self._sizes}
        self.outcome.write_seconds = time.perf_counter() - started
        self.outcome.notes += self._publisher.notes
        self.outcome.printed = self._publisher.printed
        if self._rejects.count:
            rows = f"{count_of(self._rejects.count, 'malformed row')}"
            self.outcome.notes.append(f"{rows} left out; they are listed in {self._rejects.folder}")
        if late := self._publisher.late:
            message = f"{late:,} rows came too late and were" if late > 1 else "1 row came too late and was"
            self.outcome.notes.append(f"{message} left out; see {self._publisher.late_folder}")

    def _apply(self, epoch: EpochFiles, conflicts: Conflicts, is_first: bool = False) -> None:
        """Apply an epoch; the first one has files of facts, which are sets, in which equal rows are one."""
        started, rejected = time.perf_counter(), self._rejects.count
        with self._watch.step(f"reading {epoch.name}"):
            tables = self._loader.load(epoch.files)
        reading = time.perf_counter() - started
        with (
            self._watch.step("loading the facts" if is_first else f"epoch {epoch.name}"),
            self._pipeline.transaction(conflicts, positions={POSITION: epoch.name}) as change,
        ):
            for table in list(tables):
                (change.insert if is_first else change.append)(table, tables.pop(table))
        writing, self._last = 0.0, epoch.name
        if not is_first:
            began = time.perf_counter()
            with self._watch.step(f"writing the changes of {epoch.name}"):
                self._publisher.write_changes(epoch.name, change, self._pipeline)
            writing = time.perf_counter() - began
            for late in change.report.late:
                self._publisher.write_late(epoch.name, late)
        done = EpochDone(epoch.name, change.report, reading, writing, self._rejects.count - rejected)
        self.outcome.epochs.append(done)
        self._watch.epoch(done)
