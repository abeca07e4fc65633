"""The keys of relations on shards, by whose hash their rows are spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from deltic.engine.executors.shards.cut import Piece, is_copied
from deltic.engine.executors.shards.needs import alike, needs
from deltic.engine.executors.shards.plan import Key
from deltic.engine.executors.shards.recursion import RecursionPlacement, reads_of
from deltic.program.definitions import Derived, Table
from deltic.program.operators.custom import Recomputed
from deltic.program.program import Program, Stratum
from deltic.program.queries import Atom, Query, Rule

Chains = Mapping[Rule, list[tuple[Query, list[Piece]]]]
"""The queries of rules, cut into pieces; each piece reads the rows that the previous one sent."""


@dataclass
class Homes:
    """Chooses the key of each relation's home: that of its definition, or the one by which it is most often probed or
    derived.

    All rows of a table with the same key value are on one shard, which applies changes by key. So the home's columns of
    a table with `keys` are among its key columns. Keys in `there` stay, unless moving costs no more. Relations
    in `small` are copied to every shard, and need no key.
    """

    program: Program
    chains: Chains
    ways: Mapping[Stratum, RecursionPlacement]
    small: Collection[str]
    keys: Mapping[str, tuple[int, ...]]
    there: Mapping[str, tuple[Key, ...]]
    homes: dict[str, Key] = field(default_factory=dict)

    def chosen(self) -> dict[str, Key]:
        """Return the homes of all relations."""
        forced, probes = dict(self._forced()), list(self._probes())
        demanded = Counter([*probes, *self._followed()])
        for stratum in self.program.strata:
            if stratum.signed and self.ways[stratum].in_rounds:
                self._choose_alike(stratum, demanded)
        for name in [name for stratum in self.program.strata for name in stratum.relations if name not in self.homes]:
            wanted = self._wanted(name, demanded)
            own = tuple(range(len(self.program.relations[name].schema)))
            if name in self.keys:
                own = self.keys[name]
                wanted = Counter({key: times for key, times in wanted.items() if set(key or ()) <= set(own)})
            most = max(wanted, key=lambda key: (wanted[key], set(key or own) <= set(own)), default=own)
            best = forced.get(name, most)
            if name in self.there and name not in forced:
                best = self._nearer(name, best, {key for home, key in probes if home == name and key is not None})
            self.homes[name] = best
        return self.homes

    def _wanted(self, name: str, demanded: Mapping[tuple[str, Key], int]) -> Counter[Key]:
        """Return the keys by which a relation is probed, read or derived, with how often."""
        wanted: Counter[Key] = Counter()
        for (home, key), times in demanded.items():
            if home == name and key is not None:
                wanted[key] += times
        wanted.update(self._made(name))
        return wanted

    def _choose_alike(self, stratum: Stratum, demanded: Mapping[tuple[str, Key], int]) -> None:
        """Choose the keys of histories' homes, so that each group is on one shard with its results.

        Present keys stay. Otherwise choose the most demanded key among those that keep groups together.
        """
        for names, lanes in sorted(alike(self.program, stratum.relations), key=lambda each: len(each[1])):
            votes: Counter[tuple[int, ...]] = Counter()
            for name in names:
                number, wanted = {lane[name]: i for i, lane in enumerate(lanes)}, self._wanted(name, demanded)
                wanted.update(self._handed_on(name))
                if there := self.there.get(name, (None,))[0]:
                    wanted[there] += len(self.program.rules)
                for key, times in wanted.items():
                    if key and number.keys() >= {*key}:
                        votes[tuple(number[column] for column in key)] += times
            best = max(votes, key=lambda each: votes[each], default=range(len(lanes)))
            self.homes |= {name: tuple(lanes[i][name] for i in best) for name in names}

    def _handed_on(self, name: str) -> Iterator[Key]:
        """Yield the keys by which a relation's rows have the same home as rows that rules derive from them alone."""
        for query, pieces in chain.from_iterable(self.chains.values()):
            home = self.homes.get(query.head)
            if query.delta.relation == name and len(pieces) == 1 and pieces[0].in_place and home:
                terms = [query.terms[column] for column in home]
                if query.delta.variables() >= {*terms}:
                    yield tuple(query.delta.terms.index(term) for term in terms)

    def _nearer(self, name: str, wanted: Key, probed: Collection[Key]) -> Key:
        """Return the home of an existing relation: the wanted key if it needs fewer copies of the rows, or else the
        present one.

        Only relations that are sums of their messages can move. A recursion in rounds does not stay on one shard.
        """
        home, *_ = there = self.there[name]
        definition = self.program.relations[name].definition
        if name in self.program.recursive:
            return home or wanted
        if not isinstance(definition, Table | Derived):
            return home

        def copies(key: Key) -> tuple[int, int]:
            made = {*probed, key} - ({*there} if key == home else {*there} - {key})
            return len(made), len({*probed, key})

        return min((home, wanted), key=copies)

    def _made(self, name: str) -> Iterator[Key]:
        """Yield the keys by which a relation's derivations are spread already, where they could stay."""
        for rule in self.program.rules_of(name):
            for query, pieces in self.chains.get(rule, ()):
                key = pieces[-1].key
                if pieces[-1].in_place and (home := self.homes.get(query.delta.relation)):
                    key = tuple(t for c in home if isinstance(t := query.delta.terms[c], int))
                    key = key if len(key) == len(home) else None
                if key and set(key) <= {t for t in query.terms if isinstance(t, int)}:
                    yield tuple(query.terms.index(variable) for variable in key)

    def _forced(self) -> Iterator[tuple[str, Key]]:
        """Yield the keys that definitions require, of their relations and of their sources."""
        for name, relation in self.program.relations.items():
            if relation.definition.sources and name not in self.program.recursive:
                own, read = needs(relation)
                yield name, own
                if not isinstance(relation.definition, Recomputed):
                    yield from zip(relation.definition.sources, read, strict=True)
        for stratum, way in self.ways.items():
            for name in () if way.in_rounds else stratum.relations:
                yield name, (way.keys[name],) if way.keys else ()

    def _probes(self) -> Iterator[tuple[str, Key]]:
        """Yield the keys by which atoms are probed."""
        for _, pieces in chain.from_iterable(self.chains.values()):
            for piece in pieces:
                for atoms, is_absent in ((piece.atoms, False), (piece.absent, True)):
                    for atom in atoms:
                        if piece.key is not None and not is_copied(atom, self.small, is_absent):
                            yield atom.relation, columns_of_key(atom, piece.key)
        for stratum, way in self.ways.items():
            if not way.in_rounds:
                yield from ((atom.relation, key) for _, atom, key in reads_of(self.program, stratum, way))

    def _followed(self) -> Iterator[tuple[str, Key]]:
        """Yield the keys by which changes are read."""
        for query, pieces in chain.from_iterable(self.chains.values()):
            if pieces[0].key is not None:
                yield query.delta.relation, columns_of_key(query.delta, pieces[0].key)


def columns_of_key(atom: Atom, key: Iterable[int] | None) -> Key:
    """Return the columns of an atom that have the variables of a key."""
    return None if key is None else tuple(atom.terms.index(v) for v in key)
