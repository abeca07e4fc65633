"""Looking at values in their own order: rows that are let into a history from an iteration on that a value tells.

Where values only improve (`circuit.improving`), the body of iteration i may leave out the rows whose values come later
than i in that order: what is left grows with i, and with the relations, so that the fixpoint is the same. An aggregate
then sees its least value first where no step leads to a lesser one, as Dijkstra's algorithm does for shortest paths,
and no greater one is ever handed on; others come to rest in the end as they do in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltic.engine.kernels.admission import DOUBLES, LEAST, SINGLES, admissions
from deltic.engine.operators.search import Derivations
from deltic.engine.storage.state import State
from deltic.program.histories import History, PriorityOrder
from deltic.values.types import Kind


@dataclass
class Depth:
    """How deep an epoch is, by iterations at which what closes a cycle changes: `last` is the last one.

    That is the iteration; where rows are admitted by value, it `jumps`, and depth is how many were there in a row.
    """

    jumps: bool
    last: int = -1
    depth: int = 0

    def reach(self, now: int) -> int:
        """The depth of a change at an iteration."""
        if not self.jumps:
            self.depth = now
        elif now != self.last:
            self.depth = self.depth + 1 if now == self.last + 1 else 1
        self.last = now
        return self.depth


def admission_of(state: State) -> PriorityOrder | None:
    """The order in which rows of a relation are admitted, if they are."""
    definition = state.relation.definition
    return definition.admission if isinstance(definition, History) else None


def order_of(state: State, admission: PriorityOrder) -> int:
    """The order of values as kernels take it."""
    kind = state.relation.schema.columns[admission.column].type.kind
    return LEAST * admission.least | {Kind.FLOAT64: DOUBLES, Kind.FLOAT32: SINGLES}.get(kind, 0)


def admitted(state: State, admission: PriorityOrder, found: Derivations, now: int) -> Derivations:
    """Derivations, those without times of their own of iteration `now`, none earlier than its row is admitted."""
    offsets, domain = state.layout.column(found.words, admission.column), state.domains[admission.column]
    first = admissions(domain.decode(offsets), order_of(state, admission)).astype(np.int32)
    if domain.nullable:
        first[offsets == 0] = 0
    return Derivations(
        found.words, np.maximum(first, found.times if found.times.size else np.int32(now)), found.weights
    )
