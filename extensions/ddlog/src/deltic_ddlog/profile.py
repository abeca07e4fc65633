"""What `profile;` prints: what a session's transactions took, and which relations are large and change much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deltic.pipeline.epochs.report import EpochReport


class Profile:
    """The transactions of a session in numbers. DDlog has them by operator; here they are by relation."""

    def __init__(self) -> None:
        self._transactions, self._seconds, self._visited = 0, 0.0, 0
        self._inserted, self._deleted = Counter[str](), Counter[str]()

    def note(self, report: EpochReport, given: Mapping[str, Counter[tuple[Any, ...]]]) -> None:
        """One more transaction, which has changed tables by `given`."""
        self._transactions += 1
        self._seconds += report.seconds
        self._visited += report.rows_visited
        for name, changed in report.changed.items():
            self._inserted[name] += changed.inserted
            self._deleted[name] += changed.deleted
        for name, weights in given.items():
            if name not in report.changed:
                self._inserted[name] += sum(weight for weight in weights.values() if weight > 0)
                self._deleted[name] -= sum(weight for weight in weights.values() if weight < 0)

    def lines(self, records: Mapping[str, int], names: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The text, given how many records there are in each view, and pairs of a relation and its view.

        Large relations come first.
        """
        took = f"{self._seconds:.3f} s, {self._visited:,} rows visited"
        yield f"{self._transactions:,} transaction{'s' * (self._transactions != 1)}: {took}"
        for relation, view in sorted(names, key=lambda pair: (-records[pair[1]], pair[0])):
            count = records[view]
            changed = f"+{self._inserted[view]:,} −{self._deleted[view]:,}"
            yield f"{relation}: {count:,} record{'s' * (count != 1)}, {changed}"
