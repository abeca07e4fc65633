"""Progress on a terminal, for work that takes more than a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deltic.pipeline.job.outcome import EpochDone, JobProgress
from deltic.progress import Progress as Reported
from deltic.progress import watch_progress

_PATIENCE = 1.0


class TerminalProgress(JobProgress):
    """One line on standard error, removed at the end: the current step, epochs done, and the time so far."""

    def __init__(self, console: Console) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._task = self._progress.add_task("starting", total=None)
        self._timer = Timer(_PATIENCE, self._progress.start)
        self._timer.daemon = True
        self._watching = watch_progress(self._show)

    def __enter__(self) -> TerminalProgress:
        self._timer.start()
        self._watching.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._watching.__exit__(None, None, None)
        self._timer.cancel()
        self._timer.join()
        self._progress.stop()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        self._progress.update(self._task, description=what)
        yield

    def _show(self, done: Reported) -> None:
        self._progress.update(self._task, description=str(done))

    def expect(self, epochs: int) -> None:
        self._progress.update(self._task, total=epochs)

    def epoch(self, done: EpochDone) -> None:
        self._progress.advance(self._task)


def progress_for(quiet: bool) -> AbstractContextManager[JobProgress]:
    """Show progress on standard error where that is a terminal, unless it is switched off."""
    console = Console(stderr=True)
    return nullcontext(JobProgress()) if quiet or not console.is_terminal else TerminalProgress(console)
