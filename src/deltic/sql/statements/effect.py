"""What a statement does to a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deltic.catalog import Definition


@dataclass(frozen=True)
class Effect:
    """What a statement does to a table, by the rows of views over the tables as they are.

    Rows of a view come as its `signs` says, 1 or -1. Where the view `ambiguous` has rows, the statement is refused:
    they would be changed more than once.
    """

    table: str
    definitions: tuple[Definition, ...]
    signs: Mapping[str, Literal[1, -1]]
    ambiguous: str = ""

    @property
    def reads(self) -> bool:
        """Whether it depends on rows of tables and views."""
        return any(definition.reads for definition in self.definitions)
