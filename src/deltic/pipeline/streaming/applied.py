"""What a pipeline knows of a stream: the last micro-batch that it has applied, and which one may come next.

It is a position of the epoch that the batch was (`Pipeline.positions`), so that batch and epoch are one step: a batch
that comes again is known, and one that does not follow on the state is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from deltic.errors import StreamError

_ANEW = (
    "or start again: with an empty table, another checkpointLocation and another name=, so that the query reads its "
    "source from the start"
)
_OPEN = "Open the state that has them"
_KEEP = "Keep the state, by Pipeline(state=DIRECTORY)"


@dataclass(frozen=True)
class AppliedBatch:
    """A micro-batch: the query whose checkpoint numbers it, its number, how many rows it has, and their digest.

    The digest is that of a set of rows in any order: the same batch comes in another order when it comes again.
    """

    query: str
    batch: int
    rows: int
    digest: int

    @staticmethod
    def key(stream: str) -> str:
        """The name of the position of a stream."""
        return f"stream {stream}"

    @classmethod
    def of(cls, stream: str, positions: Mapping[str, Any]) -> AppliedBatch | None:
        """The last batch of a stream that was applied; None where there was none."""
        result = positions.get(cls.key(stream))
        return None if result is None else cls(**result)

    def position(self, stream: str) -> dict[str, Any]:
        """The position of the epoch that the batch is."""
        return {self.key(stream): asdict(self)}


def comes_again(stream: str, query: str, batch: int, last: AppliedBatch | None, place: str | None) -> bool:
    """Whether a batch was applied already; raises StreamError unless it is the last one that was, or the next.

    `place` is where the pipeline keeps its state, None for memory.
    """
    which = f"stream {stream}: batch {batch} of query {query}"
    kept_in = f"state {place}" if place else "this pipeline, whose state is in memory,"
    if last is None:
        if batch:
            raise StreamError(
                f"{which} comes first, and {kept_in} has none of the batches before it: their rows would be missing. "
                f"{_OPEN if place else _KEEP}, {_ANEW}"
            )
        return False
    if query != last.query:
        raise StreamError(
            f"{which} is of another query than the one whose batch {last.batch} {kept_in} has, {last.query}: what that "
            "has read would be applied twice. Go on with its checkpointLocation; or, where this query reads other "
            "rows, give it a name of its own: pipeline.stream(…, name=…)"
        )
    if batch > last.batch + 1:
        raise StreamError(
            f"{which} does not follow on batch {last.batch}, the last one that {kept_in} has: the state is older than "
            f"the checkpoint, and the batches between would be missing. {_OPEN}, {_ANEW}"
        )
    if batch < last.batch:
        raise StreamError(
            f"{which} comes again, and {kept_in} has all up to batch {last.batch}: the checkpoint is older than the "
            f"state. Go on with the checkpoint that belongs to it, {_ANEW}"
        )
    return batch == last.batch


def check_same(stream: str, again: AppliedBatch, last: AppliedBatch) -> None:
    """Raises StreamError where a batch that comes again has other rows than those that were applied."""
    if again != last:
        raise StreamError(
            f"stream {stream}: batch {again.batch} of query {again.query} comes again, with {again.rows:,} rows other "
            f"than the {last.rows:,} that were applied: the checkpoint is older than the state, or the query does not "
            "give the same rows twice, as with random numbers. Go on with the checkpoint that belongs to the state, "
            f"{_ANEW}"
        )
