"""Priority order: rows enter a history at an iteration that depends on their value.

If values only improve (`circuit.improving`), the body of iteration i may leave out rows whose values come after i in
that order: the rest grows with i and with the relations, so the fixpoint is the same. An aggregate then sees its
least value first if no step leads to a smaller one, as in Dijkstra's algorithm for shortest paths, and greater ones
are never passed on. Other recursions converge as they do in any order.
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
    """The depth of an epoch, by the iterations at which relations that close a cycle change; `last` is the last one.

    The depth is the iteration. If rows are admitted by value, iterations `jump`, and the depth is the number of
    consecutive iterations with changes.
    """

    jumps: bool
    last: int = -1
    depth: int = 0

    def reach(self, now: int) -> int:
        """Return the depth of a change at an iteration."""
        if not self.jumps:
            self.depth = now
        elif now != self.last:
            self.depth = self.depth + 1 if now == self.last + 1 else 1
        self.last = now
        return self.depth


def admission_of(state: State) -> PriorityOrder | None:
    """Return the order in which rows of a relation are admitted; None if they are not."""
    definition = state.relation.definition
    return definition.admission if isinstance(definition, History) else None


def order_of(state: State, admission: PriorityOrder) -> int:
    """Return the order of values as kernels take it."""
    kind = state.relation.schema.columns[admission.column].type.kind
    return LEAST * admission.least | {Kind.FLOAT64: DOUBLES, Kind.FLOAT32: SINGLES}.get(kind, 0)


def admitted(state: State, admission: PriorityOrder, found: Derivations, now: int) -> Derivations:
    """Return derivations at their iterations, `now` for those without, but none before its row is admitted."""
    offsets, domain = state.layout.column(found.words, admission.column), state.domains[admission.column]
    first = admissions(domain.decode(offsets), order_of(state, admission)).astype(np.int32)
    if domain.nullable:
        first[offsets == 0] = 0
    return Derivations(
        found.words, np.maximum(first, found.times if found.times.size else np.int32(now)), found.weights
    )
