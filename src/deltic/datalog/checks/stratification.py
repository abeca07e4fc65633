"""Negation and aggregates through recursion: a relation may not be defined by its own absence or count."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deltic.catalog.components import components
from deltic.datalog.checks.checked import Rule
from deltic.datalog.checks.declarations import Signatures
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.formulas import Aggregation, Atom, Negation, with_inner
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic


@dataclass(frozen=True)
class _Use:
    """A relation's rule mentions a relation, through `!`, an aggregate of that name, or "" for plainly."""

    user: str
    used: str
    through: str
    span: Span

    def __str__(self) -> str:
        if self.through in ("", "!"):
            return f"{self.through}{self.used} ({self.span.place})"
        return f"{self.through} over {self.used} ({self.span.place})"


def check_stratification(
    rules: Sequence[Rule], signatures: Signatures, findings: Findings
) -> tuple[tuple[str, ...], ...]:
    """The strata in an order of evaluation; every cycle through a negation or an aggregate is reported."""
    uses = [use for rule in rules for use in _uses(rule) if use.user in signatures]
    graph: dict[str, list[str]] = {name: [] for name in signatures}
    for use in uses:
        graph[use.user].append(use.used)
    strata = components(graph)
    stratum = {name: number for number, names in enumerate(strata) for name in names}
    inner = [use for use in uses if stratum[use.user] == stratum.get(use.used)]
    told: set[_Use] = set()
    for use in inner:
        if use.through and use not in told:
            cycle = _cycle(use, inner)
            told.update(cycle)
            findings.append(_finding(use, cycle))
    return tuple(strata)


def _uses(rule: Rule) -> Iterator[_Use]:
    for literal in rule.body:
        inside = with_inner(literal.body) if isinstance(literal, Aggregation) else [literal]
        through = literal.function if isinstance(literal, Aggregation) else ""
        for part in inside:
            atom = part.part if isinstance(part, Negation) else part
            if isinstance(atom, Atom):
                yield _Use(rule.head.relation, atom.relation, through or "!" * (atom is not part), part.span)


def _cycle(start: _Use, uses: Sequence[_Use]) -> list[_Use]:
    """A shortest way from a use back to its user, the use first."""
    came_by: dict[str, _Use | None] = {start.used: None}
    queue = deque([start.used])
    while start.user not in came_by:
        name = queue.popleft()
        for use in uses:
            if use.user == name and use.used not in came_by:
                came_by[use.used] = use
                queue.append(use.used)
    back: list[_Use] = []
    step = came_by[start.user]
    while step:
        back.append(step)
        step = came_by[step.user]
    return [start, *reversed(back)]


def _finding(use: _Use, cycle: Sequence[_Use]) -> Diagnostic:
    if use.through == "!":
        message = f"negation through recursion: `{use.user}` depends on the absence of `{use.used}`"
    else:
        message = f"aggregate through recursion: `{use.user}` depends on a `{use.through}` over `{use.used}`"
    message += ", which depends on `" + use.user + "`" if use.used != use.user else ""
    return use.span.error(message, "the cycle is " + " -> ".join([use.user, *map(str, cycle)]))
