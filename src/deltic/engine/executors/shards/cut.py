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
from deltic.program.queries import Atom, Query, Term, When, as_expression, variables_of


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
        if self.is_copied and (met := [a for a in self.atoms if a.relation not in self.small and self._meets(a)]):
            self._probe_everywhere(met[0])
        while self.atoms or self.absent:
            if (key := self._key()) is not None:
                self._probe(Piece(key))
            elif any(a.relation in self.small for a in self.atoms) or not self.atoms:
                self._take_copied(self._current())
            else:
                self._probe_everywhere(self.atoms[0])
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

    def _probe(self, piece: Piece) -> None:
        """Probe all atoms that have the piece's key."""
        assert piece.key is not None
        if not self.bound.issuperset(piece.key):
            self._compute(self._current())
        self.pieces.append(piece)
        result = [a for a in self.atoms if a.relation not in self.small and set(piece.key) <= a.variables()]
        self._take(piece, result)
        self._finish(piece)

    def _probe_everywhere(self, atom: Atom) -> None:
        """Probe an atom on every shard, in its part there."""
        self.pieces.append(Piece())
        self._take(self.pieces[-1], [atom])
        self._finish(self.pieces[-1])

    def _meets(self, atom: Atom) -> bool:
        """Return whether an atom shares a variable with the known ones."""
        return not self.bound.isdisjoint(atom.variables())

    def _take_copied(self, piece: Piece) -> None:
        """Probe the copies of small relations, and compute the variables that absent atoms need."""
        self._take(piece, [a for a in self.atoms if a.relation in self.small])
        self._finish(piece)

    def _take(self, piece: Piece, atoms: list[Atom]) -> None:
        for atom in atoms:
            self.atoms.remove(atom)
            piece.atoms.append(atom)
            self.bound |= atom.variables()

    def _finish(self, piece: Piece) -> None:
        """Let the piece do all that it can: probe connected copies, compute, test, and check absent atoms."""
        while result := [a for a in self.atoms if a.relation in self.small and a.variables() & self.bound]:
            self._take(piece, result)
        self._compute(piece)
        for atom in [a for a in self.absent if a.variables() <= self.bound]:
            if is_copied(atom, self.small, True) or (piece.key and set(piece.key) <= atom.variables()):
                self.absent.remove(atom)
                piece.absent.append(atom)
        for condition in [c for c in self.conditions if self._is_ready(c) and not is_checked(c)]:
            self.conditions.remove(condition)
            piece.conditions.append(condition)

    def _compute(self, piece: Piece) -> None:
        for equation in self._computable():
            self.equations.remove(equation)
            piece.equations.append(equation)
            self.bound.add(equation[0])

    def _is_ready(self, term: Term) -> bool:
        return self.bound.issuperset(variables_of(as_expression(term)))
