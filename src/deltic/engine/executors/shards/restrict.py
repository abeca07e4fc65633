"""The part of a plan that an epoch needs: the steps affected by its changes, in as few stages as possible."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from deltic.engine.executors.shards.plan import (
    Define,
    Derive,
    Iterate,
    Move,
    Present,
    Recur,
    Search,
    Send,
    ShardPlan,
    Step,
    Take,
    searches_of,
)
from deltic.program.program import Program
from deltic.program.queries import When


def restrict(plan: ShardPlan, changed: Collection[str], empty: Collection[str]) -> ShardPlan:
    """Return the plan of an epoch in which these tables and constants change; those in `empty` had no rows before."""
    return _Restrict(plan.program, changed, empty).run(plan)


class _Restrict:
    """Restricts one plan: `known` is the stage in which the change of a relation is known, if it changes."""

    def __init__(self, program: Program, changed: Collection[str], empty: Collection[str]) -> None:
        self.program, self.empty = program, empty
        self.known: dict[str, int] = {}
        self._arrives = dict.fromkeys(changed, 0)

    def run(self, plan: ShardPlan) -> ShardPlan:
        steps = map(self._not_in_vain, plan.steps)
        result = [(step, stage) for step in steps if (stage := self._stage(step)) is not None]
        return replace(plan, steps=tuple(replace(step, stage=stage) for step, stage in result))

    def _is_vain(self, search: Search) -> bool:
        """Return whether a search reads a relation that had no rows before."""
        return not search.needs.isdisjoint(self.empty)

    def _not_in_vain(self, step: Step) -> Step:
        """Return the step without the searches that find nothing. One search of each rule reads present rows alone."""
        if not isinstance(step, Derive):
            return step
        return replace(step, rules=tuple(tuple(s for s in rule if not self._is_vain(s)) for rule in step.rules))

    def _stage(self, step: Step) -> int | None:
        """Return the stage of a step; None if it has nothing to read."""
        match step:
            case Take(name=name):
                if name in self._arrives:
                    self.known[name] = self._arrives[name]
                return self._arrives.get(name)
            case Define(name=name):
                definition = self.program.relations[name].definition
                return self._follow((name,), definition.sources, definition.is_timed)
            case Derive(name=name):
                read = {relation for search in searches_of([step]) for relation in search.query.relations}
                follows = {search.query.delta.relation for search in searches_of([step])}
                return self._follow((name,), read) if not follows.isdisjoint(self.known) else None
            case Recur(stratum=stratum):
                rules = [rule for name in stratum.relations for rule in self.program.rules_of(name)]
                return self._follow(stratum.relations, [name for rule in rules for name in rule.relations])
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

    def _follow(self, names: Collection[str], read: Collection[str], is_timed: bool = False) -> int | None:
        """Return the stage of a step by which relations follow those that they read."""
        stages = [self.known[name] for name in read if name in self.known]
        if not stages and not is_timed:
            return None
        stage = max(stages, default=0)
        self.known |= dict.fromkeys(names, stage)
        return stage

    def _iterate(self, step: Iterate) -> int | None:
        """Return the stage of a recursion's rounds, after all that starts them. Their changes are known one stage
        later.
        """
        arrived = [self._arrives[name] for name in step.stratum.relations if name in self._arrives]
        if not arrived:
            return None
        searches = (each.query for each in step.steps if isinstance(each, Search))
        read = {name for query in searches for name in query.relations} - step.timed
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
