"""An epoch in two phases: what was prepared is committed or aborted, so that inputs, state and outputs are one step."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from deltic.errors import BrokenError, DelticError

if TYPE_CHECKING:
    from deltic.engine.result import EpochResult
    from deltic.engine.version import Version


class Prepared:
    """An epoch that an engine has computed. As a context it is aborted at the end of the block, unless committed.

    `version` are the tables and views as it leaves them; its number is one more than that of the last committed epoch.
    `token` is what the caller wants to find beside the state: say, the positions of its sources. `result` is what the
    epoch does. Version and result may be read after `abort`, too.
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
        """Restore the state of before."""
        self._finish("abort")

    @property
    def is_open(self) -> bool:
        """Whether the epoch is neither committed nor aborted."""
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
    """Do what has no way back; raises BrokenError where it fails, after which the engine is not to be used.

    An interrupt passes as it is: a critical section holds it back until the state is whole.
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
    """Raises DelticError where there is an epoch that is neither committed nor aborted."""
    if prepared is not None:
        raise DelticError(f"epoch {prepared.number} is prepared: commit or abort it first")


def prepared_by(prepare: Callable[[list[Prepared]], None]) -> Prepared:
    """The epoch that `prepare` adds to a list; it is aborted where a signal arrives at the very end."""
    prepared: list[Prepared] = []
    try:
        prepare(prepared)
    except BaseException:
        for epoch in prepared:
            epoch.abort()
        raise
    return prepared[0]
