"""Parts of a conjunction that can be relations of their own, because they lose variables or rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deltic.calculus.planning.conjunction import NodeAtom, NodeConjunction
from deltic.circuit.expressions import columns_of, is_checked


@dataclass(frozen=True)
class JoinPart:
    """Some atoms of a conjunction with the conditions on them alone; `kept` are the variables that the rest needs."""

    inside: NodeConjunction
    rest: NodeConjunction
    kept: tuple[str, ...]

    @property
    def gone(self) -> tuple[str, ...]:
        """The variables that only the part has; empty if it is an atom with others that restrict it."""
        variables = dict.fromkeys(v for atom in self.inside.atoms for v in atom.variables)
        return tuple(v for v in variables if v not in self.kept)


def parts(conjunction: NodeConjunction, live: set[str]) -> Iterator[JoinPart]:
    """Yield the smallest part for each variable that is not live and that only the part has.

    Also all atoms that share no variable with live ones, and each atom with those that restrict it.
    """
    variables = dict.fromkeys(v for atom in conjunction.atoms for v in atom.variables if v not in live)
    starts = [start for variable in variables for start in ({variable}, _connected(conjunction, variable))]
    result = [*(_part(conjunction, start, live) for start in starts), *restrictions(conjunction, live)]
    seen: set[tuple[NodeAtom, ...]] = set()
    for part in result:
        if part is not None and part.inside.atoms not in seen:
            seen.add(part.inside.atoms)
            yield part


def restrictions(conjunction: NodeConjunction, live: set[str]) -> Iterator[JoinPart]:
    """Yield each atom with the other atoms whose variables it contains, if some atoms are left."""
    for atom in conjunction.atoms:
        own = set(atom.variables)
        atoms = tuple(other for other in conjunction.atoms if other.variables and set(other.variables) <= own)
        if 1 < len(atoms) < len(conjunction.atoms):
            yield _apart(conjunction, atoms, live)


def _connected(conjunction: NodeConjunction, variable: str) -> set[str]:
    """Return the variables that are connected with one through atoms and conditions."""
    reached, before = {variable}, set[str]()
    while reached != before:
        before = set(reached)
        reached |= {v for part in conjunction.parts() if part & reached for v in part}
    return reached


def _part(conjunction: NodeConjunction, gone: set[str], live: set[str]) -> JoinPart | None:
    """Return the smallest part that contains all uses of these variables, with atoms that only restrict it.

    None if it is all.
    """
    if gone & live or any(is_checked(f) and gone & set(columns_of(f)) for f in conjunction.filters):
        return None
    inside: set[NodeAtom] = set()
    while True:
        inside |= {atom for atom in conjunction.atoms if gone & set(atom.variables)}
        bound = {v for atom in inside for v in atom.variables}
        missing = {v for part in conjunction.parts() if part & gone for v in part} - bound
        if not missing:
            break
        inside.add(next(atom for atom in conjunction.atoms if missing & set(atom.variables)))
    inside |= {atom for atom in conjunction.atoms if atom.variables and set(atom.variables) <= bound}
    atoms = tuple(atom for atom in conjunction.atoms if atom in inside)
    return None if len(atoms) == len(conjunction.atoms) else _apart(conjunction, atoms, live)


def _apart(conjunction: NodeConjunction, atoms: tuple[NodeAtom, ...], live: set[str]) -> JoinPart:
    """Some atoms with the conditions on their variables, and the variables of them that the rest needs."""
    own, rest = _split(conjunction, atoms)
    needed = live.union(*rest.parts())
    return JoinPart(own, rest, tuple(dict.fromkeys(v for atom in atoms for v in atom.variables if v in needed)))


def _split(conjunction: NodeConjunction, atoms: tuple[NodeAtom, ...]) -> tuple[NodeConjunction, NodeConjunction]:
    """Some atoms with the conditions on their variables, and the rest."""
    bound = {v for atom in atoms for v in atom.variables}
    others = tuple(atom for atom in conjunction.atoms if atom not in atoms)
    filters = tuple(f for f in conjunction.filters if set(columns_of(f)) <= bound and not is_checked(f))
    absent = tuple(atom for atom in conjunction.absent if set(atom.variables) <= bound)
    rest = NodeConjunction(
        others,
        tuple(f for f in conjunction.filters if f not in filters),
        tuple(atom for atom in conjunction.absent if atom not in absent),
    )
    return NodeConjunction(atoms, filters, absent), rest
