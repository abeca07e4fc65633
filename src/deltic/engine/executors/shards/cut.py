"""A delta query as a chain of pieces, cut where the variables change by which its atoms can be found together.

A piece follows rows that are spread over the shards by the values of some variables, and probes atoms that have these
variables, so that what belongs together is on one shard. All that one piece can probe is probed by it; where nothing is
shared, rows go to every shard, and each shard looks into its own part. Of small relations every shard has a copy; what
changes of such a one is known on every shard, which follows it into its own part, wherever that part is spread by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from deltic.circuit.expressions import is_checked
from deltic.program.queries import Atom, Query, Term, When, as_expression, variables_of


@dataclass
class Piece:
    """One piece: its rows are spread by the variables `key`, to every shard where None, and are where they are made
    where `in_place`. `atoms` and `absent` are what it probes: those that are `small` in a copy, the others by the key.
    """

    key: tuple[int, ...] | None = None
    in_place: bool = False
    atoms: list[Atom] = field(default_factory=list)
    absent: list[Atom] = field(default_factory=list)
    conditions: list[exp.Expression] = field(default_factory=list)
    equations: list[tuple[int, exp.Expression]] = field(default_factory=list)

    def reads(self) -> Iterator[int]:
        """The variables that the piece mentions, with repetitions."""
        for atom in (*self.atoms, *self.absent):
            yield from atom.variables()
        for condition in self.conditions:
            yield from variables_of(condition)
        for variable, expression in self.equations:
            yield variable
            yield from variables_of(expression)


def cut(query: Query, small: Collection[str]) -> list[Piece]:
    """The pieces of a delta query, in their order; `small` are the relations of which every shard has a copy."""
    return _Cut(query, small).run()


def is_copied(atom: Atom, small: Collection[str], is_absent: bool) -> bool:
    """Whether an atom is probed in a copy: it is small, or nothing says where the row would be that is to be absent."""
    return atom.relation in small or (is_absent and not atom.variables())


class _Cut:
    """The cutting of one query: what is left of it, and the variables that are known so far."""

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
        """The last piece; one that works where the changes are made where there is none yet."""
        if not self.pieces:
            self.pieces.append(Piece(in_place=True))
        return self.pieces[-1]

    # Keys

    def _key(self) -> tuple[int, ...] | None:
        """The variables by which the most atoms can be probed at once; None where no atom has a known one."""
        known = self.bound | {v for v, _ in self._computable()}
        wanted = [self._shared(atom, known) for atom in self._spread(known)]
        keys = [key for key in dict.fromkeys(wanted) if key]
        if not keys:
            return None
        before = self.pieces[-1].key if self.pieces else None
        return max(keys, key=lambda key: (self._count(key, known), key == before, len(key)))

    def _spread(self, known: Collection[int]) -> list[Atom]:
        """The atoms that are probed by a key; of the absent ones those of which all is known."""
        there = [a for a in self.atoms if a.relation not in self.small]
        return there + [a for a in self.absent if not is_copied(a, self.small, True) and a.variables() <= set(known)]

    def _shared(self, atom: Atom, known: Collection[int]) -> tuple[int, ...]:
        """The known variables of an atom, in the order of its columns."""
        return tuple(dict.fromkeys(t for t in atom.terms if isinstance(t, int) and t in known))

    def _count(self, key: Sequence[int], known: Collection[int]) -> int:
        return sum(set(key) <= atom.variables() for atom in self._spread(known))

    def _computable(self) -> list[tuple[int, exp.Expression]]:
        """The equations that give a variable which an atom has, from variables that are known."""
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
        """Probe what the piece's key finds."""
        assert piece.key is not None
        if not self.bound.issuperset(piece.key):
            self._compute(self._current())
        self.pieces.append(piece)
        result = [a for a in self.atoms if a.relation not in self.small and set(piece.key) <= a.variables()]
        self._take(piece, result)
        self._finish(piece)

    def _probe_everywhere(self, atom: Atom) -> None:
        """Probe an atom by what is known on every shard: its part there."""
        self.pieces.append(Piece())
        self._take(self.pieces[-1], [atom])
        self._finish(self.pieces[-1])

    def _meets(self, atom: Atom) -> bool:
        """Whether an atom shares a variable with what is known."""
        return not self.bound.isdisjoint(atom.variables())

    def _take_copied(self, piece: Piece) -> None:
        """Probe the copies of small relations, and compute what absent atoms want."""
        self._take(piece, [a for a in self.atoms if a.relation in self.small])
        self._finish(piece)

    def _take(self, piece: Piece, atoms: list[Atom]) -> None:
        for atom in atoms:
            self.atoms.remove(atom)
            piece.atoms.append(atom)
            self.bound |= atom.variables()

    def _finish(self, piece: Piece) -> None:
        """Let the piece do all else that it can: copies that share a variable, what is computed, tested and absent."""
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
