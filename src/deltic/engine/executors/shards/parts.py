"""The parts of an epoch: steps of different parts read no changes of each other, so parts may run one after another."""

from __future__ import annotations

from deltic.engine.executors.shards.plan import ShardPlan


def parts_of(plan: ShardPlan) -> tuple[frozenset[str], ...]:
    """Return the placed relations that the steps of an epoch's plan change, by part.

    Definitions that follow earlier epochs take a step in every epoch, just once, so a plan with one is a single part;
    so is one without steps.
    """
    made = dict.fromkeys(name for step in plan.steps for name in plan.makes(step))
    if plan.is_timed or not made:
        return (frozenset(made),)
    parts = {name: {name} for name in made}
    for step in plan.steps:
        joined = set[str]().union(*(parts[name] for name in {*plan.makes(step), *plan.reads(step)} & made.keys()))
        parts |= dict.fromkeys(joined, joined)
    return tuple(dict.fromkeys(frozenset(parts[name]) for name in made))
