"""The test whether the rounds of a recursion over shards terminate."""

from __future__ import annotations

from deltic.engine.executors.shards.options import Options
from deltic.engine.executors.shards.plan import Iterate
from deltic.engine.recursion.termination import Bounds, Termination
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.program.histories import History
from deltic.program.program import Program


def termination_of(step: Iterate, program: Program, options: Options, deepest: int) -> Termination:
    """Return the termination test of rounds, before which the recursion's rows had iterations up to `deepest`."""
    relations = step.stratum.relations
    definitions = [program.relations[name].definition for name in relations]
    jumps = any(isinstance(each, History) and each.admission is not None for each in definitions)
    has_bags = any(kind_of(program, name) is RelationKind.RECURSIVE_BAG for name in relations)
    known = relations, step.closing, step.computing, step.stratum.signed, jumps, has_bags
    return Termination(Bounds(*known, options.iteration_limit, options.recursion_timeout), deepest)
