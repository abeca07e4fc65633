"""Recursion through negation: more rows of a relation may mean fewer of another [FIX §1, footnote 4].

Under an even number of NOT, EXCEPT and outer joins a relation grows with itself and has a least fixpoint; under an odd
number it would depend on its own absence. Through an aggregate, a window or a LIMIT the data decide, and engines find
out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from deltic.catalog.components import components, odd_cycle
from deltic.circuit.graph import Circuit
from deltic.circuit.polarity import polarities
from deltic.errors import ProgramError


class _Use(NamedTuple):
    user: str
    used: str
    sign: int

    def __str__(self) -> str:
        return f"{'the absence of ' if self.sign < 0 else ''}{self.used}"


def check_absence(body: Circuit, error: Callable[[str, str], ProgramError]) -> None:
    """Raise an error with this message and remedy where a relation depends on its own absence.

    This includes two relations that depend on each other's absence, neither of them within the iteration of the other.
    """
    uses = _uses(body)
    for use in uses:
        if use.sign < 0 and (cycle := odd_cycle(use, uses)):
            way = ", which depends on ".join(map(str, cycle)) if cycle[1:] else "its own absence"
            under = "it reads itself under an odd number of NOT, EXCEPT and optional sides of outer joins"
            raise error(f"{use.user} depends on {way}: {under}", "subtract in a view that reads the recursion")
    graph = {name: [use.used for use in uses if use.user == name and use.sign] for name in body.sinks}
    group = {name: number for number, names in enumerate(components(graph)) for name in names}
    for use in uses:
        if use.sign < 0 and group[use.user] == group[use.used]:
            message = (
                f"{use.user} depends on the absence of {use.used}, which depends on that of {use.user}, and both are"
            )
            remedy = f"leave out DECLARE for one of them, whose query reads no view of the recursion but {use.user}"
            raise error(f"{message} declared, so that it is open which of them begins without rows", remedy)


def _uses(body: Circuit) -> list[_Use]:
    result = polarities(body)
    return [_Use(user, used, sign) for user, ways in result.items() for used in ways for sign in sorted(ways[used])]
