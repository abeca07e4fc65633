"""The user's words for columns and expressions that a definition's circuit names itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sqlglot import exp

Rules = tuple[tuple[str, str], ...]
"""The texts of rules or queries, each with its place."""


class QueryTexts(NamedTuple):
    """The texts of columns and expressions, and the queries of recursive relations with their places."""

    columns: Mapping[str, str] = {}
    values: Mapping[exp.Expression, str] = {}
    rules: Mapping[str, Rules] = {}


@dataclass(frozen=True)
class Words:
    """The texts of columns and of expressions, and the queries of recursive relations; `read` returns them when used.

    If they are all `known`, the user did not write other columns.
    """

    read: Callable[[], QueryTexts]
    known: bool = True

    @cached_property
    def texts(self) -> QueryTexts:
        """The texts."""
        return self.read()

    def column(self, name: str) -> str:
        """Return the text of a column; empty if the user did not write it."""
        return self.texts.columns.get(name, "" if self.known else name)


def of_all(words: Sequence[Words]) -> Words:
    """Return the words of definitions that became one, without those of columns of the same name that differ."""

    def read() -> QueryTexts:
        texts = [each.texts for each in words]
        pairs = Counter(name for name, _ in {pair for each in texts for pair in each.columns.items()})
        columns = {n: text for each in texts for n, text in each.columns.items() if pairs[n] == 1}
        return QueryTexts(columns, {}, {name: rule for each in texts for name, rule in each.rules.items()})

    return words[0] if len(words) == 1 else Words(read, known=False)
