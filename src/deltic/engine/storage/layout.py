"""How rows become integers: each column has some bits in the words of a row.

What must hold:

* A layout is the places of its columns at one moment and never changes: rows that were packed by it are read by it.
  After a domain has outgrown a place (`holds`), rows are packed again by a new layout.
* Words, compared as unsigned integers from the first on, order rows by their columns, NULL first: numbers and times
  as values, texts by their ids; in a turned domain by offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deltic.engine.kernels import packing
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.types import Table, Words1
from deltic.engine.storage.columns import Column, ColumnBlock, Domain, Place, Raw, addresses, signed
from deltic.engine.storage.run import Weights, Words

_WORD = 64


@dataclass(frozen=True)
class Layout:
    """The places of columns in their sort order. No column straddles two words."""

    places: tuple[Place, ...]
    words: int

    @classmethod
    def of(cls, domains: Sequence[Domain]) -> Layout:
        """Return the layout of columns in this order. Spare bits of a word are shared among its columns, for growth."""
        groups: list[list[Domain]] = [[]]
        for domain in domains:
            if sum(d.bits for d in groups[-1]) + domain.bits > _WORD:
                groups.append([])
            groups[-1].append(domain)
        places = [place for word, group in enumerate(groups) for place in _spread(word, group)]
        return cls(tuple(places), len(groups))

    def reordered(self, order: Sequence[int]) -> Layout:
        """Return the layout of these columns, by their numbers here, in this order."""
        groups: list[list[Place]] = [[]]
        for place in (self.places[i] for i in order):
            if sum(each.bits for each in groups[-1]) + place.bits > _WORD:
                groups.append([])
            groups[-1].append(place)
        places = [
            replace(place, word=word, shift=sum(after.bits for after in group[i + 1 :]))
            for word, group in enumerate(groups)
            for i, place in enumerate(group)
        ]
        return Layout(tuple(places), len(groups))

    def holds(self, domains: Sequence[Domain]) -> bool:
        """Return whether every value of the domains still has its place."""
        return all(
            p.bits >= d.bits and p.base == d.base and p.numbering == d.numbering and p.nullable == d.nullable
            for p, d in zip(self.places, domains, strict=True)
        )

    @cached_property
    def table(self) -> Table:
        """Return the places as kernels take them: word, shift, mask and base of each."""
        rows = [(*place.found, signed(place.base)) for place in self.places]
        return np.array(rows, np.int64).reshape(-1, 4)

    def mask(self, columns: int) -> Words1:
        """Return the mask of the first columns in each word of a row."""
        mask: Words1 = self._masks[columns]
        return mask

    @cached_property
    def _masks(self) -> Words:
        """The masks of the first columns, by their number."""
        masks = np.zeros((len(self.places) + 1, self.words), np.uint64)
        for column, place in enumerate(self.places):
            masks[column + 1 :, place.word] |= np.uint64((place.mask % (1 << 64)) << place.shift)
        return masks

    def pack(self, offsets: Iterable[Raw], count: int, values: Sequence[Column] = ()) -> Words:
        """Pack rows into words uint64[W, count]: the first columns by their offsets, the others by their values.

        The values must have places, in contiguous arrays.
        """
        words, given = np.zeros((self.words, count), np.uint64), [np.ascontiguousarray(column) for column in offsets]
        known = len(given)
        assert known + len(values) == len(self.places), f"{known + len(values)} columns for {len(self.places)} places"
        if known and count:
            packing.pack_offsets(np.array([address_of(column) for column in given]), self.table[:known], words)
        if values and count:
            packing.pack_values(addresses(values), self.table[known:], words)
        return words

    def no_rows(self) -> tuple[Words, Weights]:
        """Return no packed rows, and no weights."""
        return np.empty((self.words, 0), np.uint64), np.empty(0, np.int64)

    def between(self, begin: Sequence[Raw]) -> tuple[Raw, Raw]:
        """Return the least and greatest first word of rows that begin with these offsets, given for one or more
        columns.
        """
        places = [place for place in self.places[: len(begin)] if not place.word]
        low = np.zeros(len(begin[0]), np.uint64)
        for place, column in zip(places, begin, strict=False):
            low |= column << np.uint64(place.shift)
        return low, low | np.uint64((1 << places[-1].shift) - 1)

    def beginning(self, columns: Sequence[Column]) -> list[Raw]:
        """Return the offsets of the given leading values, without rows that have a value with no place."""
        result = [place.offsets(*column) for place, column in zip(self.places, columns, strict=False)]
        there = np.logical_and.reduce([known for _, known in result])
        return [raw[there] for raw, _ in result]

    def column(self, words: Words, index: int) -> Raw:
        """Return the offsets of one column of packed rows."""
        place = self.places[index]
        column: Raw = (words[place.word] >> np.uint64(place.shift)) & np.uint64(place.mask % (1 << 64))
        return column

    def values(self, words: Words) -> Sequence[Column]:
        """Return the values of all columns of packed rows."""
        block = ColumnBlock(len(self.places), words.shape[1])
        packing.unpack_values(np.ascontiguousarray(words), self.table, block.into)
        block.nullable[:] = [place.nullable for place in self.places]
        return block

    def value(self, words: Words, index: int) -> Column:
        """Return the values of one column of packed rows."""
        place, column = self.places[index], self.column(words, index)
        nulls = column == 0 if place.nullable else None
        column += np.uint64(place.base % (1 << 64))
        return column.view(np.int64), nulls

    def unpack(self, words: Words) -> list[Raw]:
        """Return the offsets of all columns of packed rows."""
        return list(self.offsets(words))

    def offsets(self, words: Words) -> Words:
        """Return the offsets of all columns of packed rows as one array, uint64[columns, n]."""
        result = np.empty((len(self.places), words.shape[1]), np.uint64)
        packing.unpack_offsets(np.ascontiguousarray(words), self.table, result)
        return result


def _spread(word: int, domains: Sequence[Domain]) -> list[Place]:
    spare = _WORD - sum(d.bits for d in domains)
    shift = _WORD
    places = []
    for i, domain in enumerate(domains):
        bits = domain.bits + spare // len(domains) + (i < spare % len(domains))
        shift -= bits
        places.append(Place(word, shift, bits, domain.base, domain.numbering, domain.nullable))
    return places
