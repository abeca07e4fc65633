"""The faults of an epoch: values that are missing but required. They form a Z-set, which must be empty at the end.

A view is linear in its rows, and so are its faults: faults of rows that an epoch adds in one query and removes in
another cancel. There are none before an epoch, so a fault whose weights sum to zero is in no row of the view.
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
        """Add a fault in a derivation of a relation. Faults with the same message are summed."""
        self._weights[relation, message] += weight

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """Yield the present faults: relation, message and weight."""
        return ((relation, message, weight) for (relation, message), weight in self._weights.items() if weight)

    def clear(self) -> None:
        """Forget all faults: an epoch starts or restarts."""
        self._weights.clear()

    def be(self, faults: Iterable[tuple[str, str, int]]) -> None:
        """Replace all faults by those of an earlier moment of the epoch."""
        self.clear()
        for fault in faults:
            self.add(*fault)

    def refuse(self, views_of: Callable[[str], Sequence[str]]) -> None:
        """Raise an EvaluationError for the first fault, if there is one, which names the views of its relation."""
        for relation, message, _ in self:
            views = " and ".join(views_of(relation)) or relation
            raise EvaluationError(f"{views}: {message}; the epoch was rejected")
