"""What has no value in an epoch though it must: a Z-set of faults, which is empty in an epoch that can be accepted.

A view is linear in its rows, and so are its faults: those of rows that an epoch adds in one query and takes away in
another cancel. There are none before an epoch, so that a fault whose weights add up to zero is in no row of the view.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from deltic.errors import EvaluationError


class Faults:
    """The faults of an epoch so far."""

    def __init__(self) -> None:
        self._weights: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, relation: str, message: str, weight: int) -> None:
        """A fault in a derivation of a relation; the message tells different ones apart."""
        self._weights[relation, message] += weight

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """The faults that there are: relation, message and weight."""
        return ((relation, message, weight) for (relation, message), weight in self._weights.items() if weight)

    def clear(self) -> None:
        """Forget them: an epoch begins, or begins again."""
        self._weights.clear()

    def be(self, faults: Iterable[tuple[str, str, int]]) -> None:
        """Have these alone: those of a moment to which the epoch has come back."""
        self.clear()
        for fault in faults:
            self.add(*fault)

    def refuse(self, views_of: Callable[[str], Sequence[str]]) -> None:
        """Raise an EvaluationError for the first fault that there is, in the names of the views of its relation."""
        for relation, message, _ in self:
            views = " and ".join(views_of(relation)) or relation
            raise EvaluationError(f"{views}: {message}; the epoch was rejected")
