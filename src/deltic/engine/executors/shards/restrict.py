"""The part of a plan that an epoch needs: the steps affected by its changes, in as few stages as possible."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import (
    Define,
    Derive,
    Iterate,
    Move,
    Present,
    Recur,
    Search,
    Send,
    Step,
    Take,
)
from deltic.program.queries import When


def restrict(plan: ShardPlan, changed: Collection[str], empty: Collection[str]) -> ShardPlan:
    """Return the plan of an epoch in which these tables and constants change; those in `empty` had no rows before."""
    return _Restrict(plan, changed, empty).run()


class _Restrict:
    """Restricts one plan: `known` is the stage in which the change of a relation is known, if it changes."""

    def __init__(self, plan: ShardPlan, changed: Collection[str], empty: Collection[str]) -> None:
        self.plan, self.empty = plan, empty
        self.known: dict[str, int] = {}
        self._arrives = dict.fromkeys(changed, 0)

    def run(self) -> ShardPlan:
        result = [(step, stage) for step in self._steps() if (stage := self._stage(step)) is not None]
        return replace(self.plan, steps=tuple(replace(step, stage=stage) for step, stage in result))

    def _steps(self) -> Iterator[Step]:
        """Yield the steps without the searches of rules that find nothing. One of each reads present rows alone."""
        for step in self.plan.steps:
            if isinstance(step, Derive):
                step = replace(step, rules=tuple(tuple(s for s in rule if not self._is_vain(s)) for rule in step.rules))
            yield step

    def _is_vain(self, search: Search) -> bool:
        """Return whether a search reads a relation that had no rows before."""
        return not search.needs.isdisjoint(self.empty)

    def _stage(self, step: Step) -> int | None:
        """Return the stage of a step; None if it has nothing to read."""
        match step:
            case Take(name=name):
                if name in self._arrives:
                    self.known[name] = self._arrives[name]
                return self._arrives.get(name)
            case Define(name=name):
                return self._follow(step, self.plan.program.relations[name].definition.is_timed)
            case Derive():
                return None if self.plan.follows(step).isdisjoint(self.known) else self._follow(step)
            case Recur():
                return self._follow(step)
            case Iterate():
                return self._iterate(step)
            case Send(source=source, target=target):
                return self._send(source, (), target, stays=False)
            case Present(name=name):
                self.known[name] = 0
                return 0
            case Move(target=target):
                self._arrives[target] = 1
                return 0
            case Search(query=query, stays=stays):
                new = [a.relation for a in (*query.body.atoms, *query.body.absent) if a.when is When.NEW]
                return None if self._is_vain(step) else self._send(query.delta.relation, new, query.head, stays)

    def _follow(self, step: Step, is_timed: bool = False) -> int | None:
        """Return the stage of a step by which relations follow those that they read."""
        stages = [self.known[name] for name in self.plan.reads(step) if name in self.known]
        if not stages and not is_timed:
            return None
        stage = max(stages, default=0)
        self.known |= dict.fromkeys(self.plan.makes(step), stage)
        return stage

    def _iterate(self, step: Iterate) -> int | None:
        """Return the stage of a recursion's rounds, after all that starts them. Their changes are known one stage
        later.
        """
        arrived = [self._arrives[name] for name in step.stratum.relations if name in self._arrives]
        if not arrived:
            return None
        read = self.plan.reads(step) - step.timed
        stage = max(arrived + [self.known[name] for name in read if name in self.known])
        self.known |= dict.fromkeys(step.timed, stage + 1)
        return stage

    def _send(self, source: str, read: Collection[str], target: str, stays: bool) -> int | None:
        """Return the stage of a step that joins a change with other relations and their changes."""
        if source not in self.known:
            return None
        stage = max(self.known[name] for name in (source, *read) if name in self.known)
        self._arrives[target] = max(self._arrives.get(target, 0), stage if stays else stage + 1)
        return stage
