"""Limits of a service."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from deltic.engine.resources import available, bytes_of
from deltic.pipeline.names import check_least


@dataclass(frozen=True)
class Limits:
    """Limits on clients; a request beyond one is refused with an error that names the limit.

    - `seconds`: what a statement may take. It ends at the next safe place: between the steps of a query.
    - `rows`: the rows of an answer. `answer`: their bytes in memory. `body`: the bytes of a request. Bytes are a number
      or "64 MiB".
    - `question_memory`: by how much the process may grow while a question is answered, in bytes or as a text; None is
      half of what is free when the first question comes.
    - `waiting`: changes that wait for the writer; further ones are refused until it has caught up.
    - `group`, `group_rows`: changes, and rows of them, that share an epoch.
    - `connections`, `subscriptions`: how many there are at once. `threads`: questions that are answered at once.
    - `keys`: for this many epochs idempotency keys are remembered.
    """

    seconds: float = 30.0
    rows: int = 100_000
    answer: int | str = "256 MiB"
    body: int | str = "64 MiB"
    question_memory: int | str | None = None
    waiting: int = 1_000
    group: int = 256
    group_rows: int = 10_000
    connections: int = 2_000
    subscriptions: int = 2_000
    threads: int = 8
    keys: int = 4_096

    def __post_init__(self) -> None:
        check_least(self.seconds, "seconds", 0, "a number of seconds", whole=False)
        bytes_of(self.answer, "answer")
        bytes_of(self.body, "body")
        bytes_of(self.question_memory or 0, "question memory")
        for name in ("rows", "waiting", "group", "group_rows", "connections", "subscriptions", "threads", "keys"):
            check_least(getattr(self, name), name, 1, "a number")

    @property
    def answer_bytes(self) -> int:
        """The bytes of the rows of an answer."""
        return bytes_of(self.answer, "answer")

    @property
    def body_bytes(self) -> int:
        """The bytes of a request."""
        return bytes_of(self.body, "body")

    @cached_property
    def memory_bytes(self) -> int:
        """The bytes by which the process may grow while a question is answered."""
        given = self.question_memory
        return available() // 2 if given is None else bytes_of(given, "question memory")
