"""Strongly connected components of the relations in dependency order, and the cycles in them through which a relation
would depend on its own absence."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

Graph = Mapping[str, Sequence[str]]


class Dependency(Protocol):
    """A relation uses another.

    `sign` is 1 where it grows when the other does, -1 where it shrinks, and 0 where that is not known.
    """

    @property
    def user(self) -> str: ...
    @property
    def used(self) -> str: ...
    @property
    def sign(self) -> int: ...


SomeUse = TypeVar("SomeUse", bound=Dependency)


def components(graph: Graph) -> list[tuple[str, ...]]:
    """Return the strongly connected components, each after all that it points to [Tarjan 1972]; the algorithm is
    iterative.

    Names that are no keys of `graph` are left out. Members stand in the order of the graph's keys.
    """
    search = _Search(graph)
    for name in graph:
        search.visit(name)
    order = {name: position for position, name in enumerate(graph)}
    return [tuple(sorted(component, key=order.__getitem__)) for component in search.found]


def odd_cycle(start: SomeUse, uses: Sequence[SomeUse]) -> list[SomeUse]:
    """Return a shortest cycle with an odd number of negative uses, one of them first; empty where there is none."""
    goal = (start.user, 1)
    came_by: dict[tuple[str, int], SomeUse | None] = {(start.used, 1): None}
    queue = deque([(start.used, 1)])
    while queue and goal not in came_by:
        name, sign = queue.popleft()
        for use in uses:
            following = (use.used, sign * use.sign)
            if use.user == name and use.sign and following not in came_by:
                came_by[following] = use
                queue.append(following)
    if goal not in came_by:
        return []
    back: list[SomeUse] = []
    at = goal
    while step := came_by[at]:
        back.append(step)
        at = (step.user, at[1] * step.sign)
    return [start, *reversed(back)]


class _Search:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.found: list[list[str]] = []
        self._numbers: dict[str, int] = {}
        self._lowest: dict[str, int] = {}
        self._stack: list[str] = []
        self._on_stack: set[str] = set()

    def visit(self, start: str) -> None:
        """Visit, depth first, everything that `start` reaches and that was not visited before."""
        if start in self._numbers:
            return
        path: list[tuple[str, Iterator[str]]] = [(start, self._enter(start))]
        while path:
            name, successors = path[-1]
            successor = next(successors, None)
            if successor is None:
                path.pop()
                self._leave(name, path[-1][0] if path else None)
            elif successor not in self._numbers:
                path.append((successor, self._enter(successor)))
            elif successor in self._on_stack:
                self._lowest[name] = min(self._lowest[name], self._numbers[successor])

    def _enter(self, name: str) -> Iterator[str]:
        self._numbers[name] = self._lowest[name] = len(self._numbers)
        self._stack.append(name)
        self._on_stack.add(name)
        return (successor for successor in self.graph[name] if successor in self.graph)

    def _leave(self, name: str, parent: str | None) -> None:
        if parent is not None:
            self._lowest[parent] = min(self._lowest[parent], self._lowest[name])
        if self._lowest[name] == self._numbers[name]:
            position = self._stack.index(name)
            component, self._stack = self._stack[position:], self._stack[:position]
            self._on_stack.difference_update(component)
            self.found.append(component)
