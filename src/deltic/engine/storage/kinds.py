"""How the engine stores a relation, by its definition and its role in the program."""

from __future__ import annotations

import enum

from deltic.program.definitions import Derived, FixedRows, Table
from deltic.program.histories import Historical
from deltic.program.operators.aggregate import Grouped
from deltic.program.program import Program


class RelationKind(enum.Enum):
    """How a relation is stored."""

    TABLE = "table"
    CONSTANT = "constant"
    SET = "set, by the number of derivations of each row"
    RECURSIVE = "recursive set"
    RECURSIVE_BAG = "recursive bag, by the weight of each row at each iteration"
    HISTORY = "history, by the change of weight of each row at each iteration"
    BAG = "Z-set, by the weight of each row"
    TRANSIENT = "rows that are passed on, without being kept"
    AGGREGATE = "aggregate, by the totals of each group"


_DEFINED = {Table: RelationKind.TABLE, FixedRows: RelationKind.CONSTANT, Grouped: RelationKind.AGGREGATE}


def kind_of(program: Program, name: str) -> RelationKind:
    """Return the kind of a relation of the program."""
    definition = program.relations[name].definition
    if definition == Derived(distinct=True):
        return RelationKind.RECURSIVE if name in program.recursive else RelationKind.SET
    if isinstance(definition, Historical):
        return RelationKind.HISTORY
    if name in program.recursive:
        return RelationKind.RECURSIVE_BAG
    if name in program.passed:
        return RelationKind.TRANSIENT
    return _DEFINED.get(type(definition), RelationKind.BAG)
