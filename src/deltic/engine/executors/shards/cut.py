"""Cuts a delta query into a chain of pieces, where the variables change by which its atoms are located.

A piece reads rows that are spread over the shards by the values of some variables, and probes atoms that have these
variables, so that matching rows are on one shard. Each piece probes all atoms that it can. If an atom shares no
variable, rows are sent to every shard, and each shard probes its own part. Small relations have a copy on every shard.
Changes of a small relation are known on every shard, which joins them with its own part, whatever that is spread by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from deltic.circuit.expressions import is_checked
from deltic.program.queries import Atom, Query, When, variables_of


@dataclass
class Piece:
    """One piece: its rows are spread by the variables `key`, or sent to every shard if None; `in_place`, they stay
    where they are. It probes `atoms` and `absent`: copies of `small` relations, the others by the key.
    """

    key: tuple[int, ...] | None = None
    in_place: bool = False
    atoms: list[Atom] = field(default_factory=list)
    absent: list[Atom] = field(default_factory=list)
    conditions: list[exp.Expression] = field(default_factory=list)
    equations: list[tuple[int, exp.Expression]] = field(default_factory=list)

    def reads(self) -> Iterator[int]:
        """Yield the variables that the piece reads, with repetitions."""
        for atom in (*self.atoms, *self.absent):
            yield from atom.variables()
        for condition in self.conditions:
            yield from variables_of(condition)
        for variable, expression in self.equations:
            yield variable
            yield from variables_of(expression)


def cut(query: Query, small: Collection[str]) -> list[Piece]:
    """Return the pieces of a delta query, in order; `small` are the relations with a copy on every shard."""
    return _Cut(query, small).run()


def is_copied(atom: Atom, small: Collection[str], is_absent: bool) -> bool:
    """Return whether an atom is probed in a copy: it is small, or it is absent and has no variables."""
    return atom.relation in small or (is_absent and not atom.variables())


class _Cut:
    """Cuts one query: holds the rest of it, and the variables that are known so far."""

    def __init__(self, query: Query, small: Collection[str]) -> None:
        body = query.body
        self.atoms = [a for a in body.atoms if a.when is not When.DELTA]
        self.absent = list(body.absent)
        self.conditions, self.equations = list(body.conditions), list(body.equations)
        self.small, self.is_copied = small, query.delta.relation in small
        self.bound = set(query.delta.variables())
        self.pieces: list[Piece] = []

    def run(self) -> list[Piece]:
        others = [a for a in self.atoms if a.relation not in self.small and not self.bound.isdisjoint(a.variables())]
        if self.is_copied and others:
            self._probe(Piece(), others[:1])
        while self.atoms or self.absent:
            if (key := self._key()) is not None:
                there = (a for a in self.atoms if a.relation not in self.small)
                self._probe(Piece(key), [a for a in there if set(key) <= a.variables()])
            elif any(a.relation in self.small for a in self.atoms) or not self.atoms:
                self._take(self._current(), [a for a in self.atoms if a.relation in self.small])
            else:
                self._probe(Piece(), self.atoms[:1])
        last = self._current()
        last.conditions += self.conditions
        last.equations += self.equations
        return self.pieces

    def _current(self) -> Piece:
        """Return the last piece; if there is none, a first piece that runs where the changes are."""
        if not self.pieces:
            self.pieces.append(Piece(in_place=True))
        return self.pieces[-1]

    # Keys

    def _key(self) -> tuple[int, ...] | None:
        """Return the variables by which most atoms can be probed at once; None if no atom has a known variable."""
        known = self.bound | {v for v, _ in self._computable()}
        wanted = [self._shared(atom, known) for atom in self._spread(known)]
        keys = [key for key in dict.fromkeys(wanted) if key]
        if not keys:
            return None
        before = self.pieces[-1].key if self.pieces else None
        return max(keys, key=lambda key: (self._count(key, known), key == before, len(key)))

    def _spread(self, known: Collection[int]) -> list[Atom]:
        """Return the atoms that are probed by a key; of absent ones, those whose variables are all known."""
        there = [a for a in self.atoms if a.relation not in self.small]
        return there + [a for a in self.absent if not is_copied(a, self.small, True) and a.variables() <= set(known)]

    def _shared(self, atom: Atom, known: Collection[int]) -> tuple[int, ...]:
        """Return the known variables of an atom, in the order of its columns."""
        return tuple(dict.fromkeys(t for t in atom.terms if isinstance(t, int) and t in known))

    def _count(self, key: Sequence[int], known: Collection[int]) -> int:
        return sum(set(key) <= atom.variables() for atom in self._spread(known))

    def _computable(self) -> list[tuple[int, exp.Expression]]:
        """Return the equations that compute variables of atoms from known variables."""
        wanted = {v for atom in (*self.atoms, *self.absent) for v in atom.variables()}
        result: list[tuple[int, exp.Expression]] = []
        known = set(self.bound)
        while True:
            new = [
                (v, e)
                for v, e in self.equations
                if v in wanted and v not in known and known.issuperset(variables_of(e))
            ]
            if not new:
                return result
            result += new
            known |= {v for v, _ in new}

    # Pieces

    def _probe(self, piece: Piece, atoms: Sequence[Atom]) -> None:
        """Add a piece that probes these atoms, those that have its key, or one on every shard."""
        if not self.bound.issuperset(piece.key or ()):
            self._compute(self._current())
        self.pieces.append(piece)
        self._take(piece, atoms)

    def _take(self, piece: Piece, atoms: Sequence[Atom]) -> None:
        """Let the piece probe these atoms, and do all that it can: probe connected copies, compute, test, and check
        absent atoms.
        """
        while atoms or (atoms := [a for a in self.atoms if a.relation in self.small and a.variables() & self.bound]):
            for atom in atoms:
                self.atoms.remove(atom)
                piece.atoms.append(atom)
                self.bound |= atom.variables()
            atoms = ()
        self._compute(piece)
        for atom in [a for a in self.absent if a.variables() <= self.bound]:
            if is_copied(atom, self.small, True) or (piece.key and set(piece.key) <= atom.variables()):
                self.absent.remove(atom)
                piece.absent.append(atom)
        for condition in [c for c in self.conditions if self.bound.issuperset(variables_of(c)) and not is_checked(c)]:
            self.conditions.remove(condition)
            piece.conditions.append(condition)

    def _compute(self, piece: Piece) -> None:
        for equation in self._computable():
            self.equations.remove(equation)
            piece.equations.append(equation)
            self.bound.add(equation[0])
