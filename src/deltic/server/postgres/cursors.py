"""Cursors: answers fetched in parts, and subscriptions fetched as changes arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltic.server.postgres.dialect import ClientStatement
from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.outcomes import Done, FollowedView, ResultRows
from deltic.server.postgres.types import Field


@dataclass
class OpenCursor:
    """An answer or a subscription, with its rows so far and the number of those that were fetched."""

    outcome: ResultRows | FollowedView
    table: pa.Table | None = None
    given: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.outcome, ResultRows):
            self.table = self.outcome.table

    @property
    def fields(self) -> Sequence[Field]:
        """The columns."""
        return self.outcome.fields

    @property
    def is_done(self) -> bool:
        """Whether all rows were fetched."""
        return self.table is not None and self.given == len(self.table)

    def take(self, count: int | None) -> pa.Table:
        """Take the next rows, by default all that are left; of a subscription those that have arrived.

        Raises CutOffError.
        """
        if isinstance(self.outcome, FollowedView):
            self._gather(self.outcome)
        assert self.table is not None
        part = self.table.slice(self.given, count)
        self.given += len(part)
        return part

    def close(self) -> None:
        """End the subscription."""
        if isinstance(self.outcome, FollowedView):
            self.outcome.follower.close()

    def _gather(self, following: FollowedView) -> None:
        """Add arrived changes to the rows that were not fetched yet."""

        left = [] if self.table is None else [self.table.slice(self.given)]
        self.table, self.given = pa.concat_tables([*left, following.arrived(is_first=not left)]), 0


class Cursors(dict[str, OpenCursor]):
    """The cursors of a session, by their names."""

    def __missing__(self, name: str) -> OpenCursor:
        raise PostgresError("34000", f'cursor "{name}" does not exist')

    def declare(self, name: str, outcome: ResultRows | FollowedView) -> None:
        """Add a cursor; raises PostgresError where there is one of the name."""
        if name in self:
            raise PostgresError("42P03", f'cursor "{name}" already exists')
        self[name] = OpenCursor(outcome)

    def move(self, statement: ClientStatement) -> ResultRows | Done:
        """FETCH, MOVE and CLOSE."""
        if statement.words[0] == "CLOSE":
            for name in list(self) if statement.words[1:] == ["ALL"] else [statement.tokens[-1].text]:
                self[name].close()
                del self[name]
            return Done("CLOSE CURSOR")
        count, name = fetched(statement)
        cursor = self[name]
        part = cursor.take(count)
        return ResultRows(cursor.fields, part, "FETCH") if statement.words[0] == "FETCH" else Done(f"MOVE {len(part)}")

    def end_transaction(self) -> None:
        """Close all cursors but those FOR SUBSCRIBE."""
        for name in [name for name, each in self.items() if not isinstance(each.outcome, FollowedView)]:
            del self[name]

    def close(self) -> None:
        """Close all cursors."""
        for cursor in self.values():
            cursor.close()
        self.clear()


def fetched(statement: ClientStatement) -> tuple[int | None, str]:
    """Parse FETCH or MOVE: the number of rows, None for all, and the cursor. Raises PostgresError."""
    how = [word for word in statement.words[1:-1] if word not in ("FROM", "IN", "FORWARD")]
    name = statement.tokens[-1].text
    if how == ["ALL"]:
        return None, name
    if len(how) == 1 and how[0].isdecimal():
        return int(how[0]), name
    if how in ([], ["NEXT"]):
        return 1, name
    message = f"{statement.words[0]} {' '.join(how)} is not supported"
    raise statement.error(1, message, "cursors go forward: FETCH n FROM name", "0A000")
