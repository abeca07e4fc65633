"""What tables and recursive relations hold, as plans ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from deltic.calculus.planning.statistics import recursive
from deltic.engine.local.frequencies import Values
from deltic.engine.local.measured import Columns, plain_values
from deltic.engine.local.storage.arrow import Encoded
from deltic.engine.local.storage.state import State
from deltic.program.program import Program

NO_BATCHES: Mapping[str, Encoded] = MappingProxyType({})


@dataclass(frozen=True)
class Contents:
    """The rows of the relations of a program, in these states."""

    program: Program
    states: Mapping[str, State]

    def held(self, table: str) -> int:
        """How many rows a table has, about: what cancels counts twice until runs are merged."""
        return len(self.states[self.program.tables[table]].contents)

    def recursive(self) -> dict[str, int]:
        """How many rows the recursive relations have that have any, by what statistics call them."""
        found = {recursive(name): len(self.states[name].contents) for name in sorted(self.program.recursive)}
        return {name: rows for name, rows in found.items() if rows}

    def columns(self, batches: Mapping[str, Encoded] = NO_BATCHES) -> Columns:
        """The columns of a recursive relation, or of a table with a batch for it, NULL as the least value."""
        names = {**{recursive(relation): relation for relation in self.program.recursive}, **self.program.tables}

        def values(name: str) -> list[Values]:
            state = self.states[names[name]]
            found = [state.layout.values(state.rows()[0])]
            found += [batches[name][0]] if name in batches else []
            return [np.concatenate([plain_values(*part) for part in parts]) for parts in zip(*found, strict=True)]

        return values
