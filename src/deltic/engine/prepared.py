"""Two-phase epochs: a prepared epoch is committed or aborted, so that inputs, state and outputs change in one step."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from deltic.errors import BrokenError, DelticError

if TYPE_CHECKING:
    from deltic.engine.result import EpochResult
    from deltic.engine.version import Version


class Prepared:
    """An epoch that an engine has computed. As a context manager it is aborted at the end of the block, unless
    committed.

    `version` has the tables and views after it; its number is one more than that of the last committed epoch. `token`
    is a value that the caller wants to store with the state, such as the positions of its sources. `result` describes
    the epoch. Version and result may also be read after `abort`.
    """

    def __init__(
        self, version: Version, token: str, result: EpochResult, commit: Callable[[], None], abort: Callable[[], None]
    ) -> None:
        self.version, self.token, self.result = version, token, result
        self.number = version.epoch
        self._end: dict[str, Callable[[], None]] | None = {"commit": commit, "abort": abort}

    def commit(self) -> EpochResult:
        """Make the epoch part of the state."""
        self._finish("commit")
        return self.result

    def abort(self) -> None:
        """Return to the state before."""
        self._finish("abort")

    @property
    def is_open(self) -> bool:
        """Return whether the epoch is neither committed nor aborted."""
        return self._end is not None

    def _finish(self, how: str) -> None:
        if self._end is None:
            raise DelticError(f"epoch {self.number} was committed or aborted already")
        end, self._end = self._end[how], None
        unfailing(end, f"to {how} epoch {self.number:,}")

    def __enter__(self) -> Prepared:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.is_open:
            self.abort()


def unfailing(action: Callable[[], None], what: str) -> None:
    """Run an action that cannot be undone. BrokenError if it fails: the engine must not be used any more.

    An interrupt is passed on: a critical section delays it until the state is consistent.
    """
    try:
        action()
    except BrokenError:
        raise
    except Exception as error:
        raise BrokenError(
            f"it failed {what} ({type(error).__name__}: {error}), so that tables and views in memory may be wrong; "
            "nothing is done with them any more. Open the pipeline again: its state has all that was committed; "
            "without a state, load it again"
        ) from error


def refuse_second(prepared: Prepared | None) -> None:
    """Raise DelticError if there is an epoch that is neither committed nor aborted."""
    if prepared is not None:
        raise DelticError(f"epoch {prepared.number} is prepared: commit or abort it first")


def prepared_by(prepare: Callable[[list[Prepared]], None]) -> Prepared:
    """Return the epoch that `prepare` adds to a list. It is aborted if a signal arrives at the very end."""
    prepared: list[Prepared] = []
    try:
        prepare(prepared)
    except BaseException:
        for epoch in prepared:
            epoch.abort()
        raise
    return prepared[0]
