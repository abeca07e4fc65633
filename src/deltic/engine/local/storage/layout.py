"""How rows become integers: domains of values, and the bits of each column in the words of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltic.circuit.types import Type
from deltic.engine.local.storage.run import Words

Values = npt.NDArray[np.int64]
Raw = npt.NDArray[np.uint64]

_WORD = 64


class DomainOverflow(Exception):
    """A computed value has no place in its domain; the epoch is to be run again after `domain.extend(low, high)`."""

    def __init__(self, domain: Domain, low: int, high: int) -> None:
        super().__init__(f"{domain} does not hold {low}..{high}")
        self.domain, self.low, self.high = domain, low, high


@dataclass(eq=False)
class Domain:
    """The values of columns that are compared with one another, as `bits`-bit offsets from `base`.

    Values are int64 in the order of the type (see `codec`); a domain only ever grows, `growth` times so far.
    `numbering` counts how often values were given anew, which those of labels alone are (see `text_order`).
    """

    type: Type
    base: int = 0
    bits: int = 1
    empty: bool = True
    growth: int = 0
    numbering: int = 0

    @classmethod
    def all(cls, type_: Type) -> Domain:
        """The domain of all values."""
        return cls(type_, -(1 << 63), _WORD, empty=False)

    def fits(self, low: int, high: int) -> bool:
        """Whether all values from `low` to `high` have an offset; none in an empty domain, whose base may move."""
        return not self.empty and low >= self.base and high - self.base < 1 << self.bits

    def range(self) -> tuple[int, int]:
        """The least and the greatest value that fit; the greatest is below the least in an empty domain."""
        return (1, 0) if self.empty else (self.base, min(self.base + (1 << self.bits), 1 << 63) - 1)

    def include(self, low: int, high: int) -> None:
        """Make room for the values from `low` to `high` if they do not fit yet."""
        if not self.fits(low, high):
            self.extend(low, high)

    def extend(self, low: int, high: int) -> None:
        """Make room for the values from `low` to `high`."""
        self.growth += 1
        if self.empty:
            self.empty = False
            near_zero = low >= 0 and high.bit_length() <= (high - low).bit_length() + 2
            self.base = 0 if near_zero else low
        if low < self.base:
            top = self.base + (1 << self.bits) - 1
            slack = (max(top, high) - low) // 8
            self.base = max(low - slack, -(1 << 63))
            high = max(top, high)
        self.bits = min(_WORD, max(self.bits, (high - self.base).bit_length()))

    def extend_amply(self, low: int, high: int) -> None:
        """Make room for the values and, beyond them, for three times as many as there are: more are to come."""
        _, top = self.range()
        self.extend(
            max(low - 3 * (top - low), -(1 << 63)) if low < self.base else low,
            min(high + 3 * (high - self.base), (1 << 63) - 1) if high > top else high,
        )

    def encode(self, values: Values) -> Raw:
        """The offsets of values that fit."""
        return values.view(np.uint64) - np.uint64(self.base % (1 << 64))

    def place(self, values: Values) -> Raw:
        """The offsets of computed values; DomainOverflow where one has none."""
        if values.size:
            low, high = int(values.min()), int(values.max())
            if not self.fits(low, high):
                raise DomainOverflow(self, low, high)
        return self.encode(values)

    def moved(self, raw: Raw, old: Place) -> Raw:
        """The present offsets of what had these offsets when `old` was its place."""
        return raw + np.uint64((old.base - self.base) % (1 << 64))

    def decode(self, raw: Raw) -> Values:
        """The values of offsets."""
        return (raw + np.uint64(self.base % (1 << 64))).view(np.int64)


@dataclass(frozen=True)
class Place:
    """Where a column's offset stands: `bits` bits of word `word` above `shift`, from `base` in a `numbering`."""

    word: int
    shift: int
    bits: int
    base: int
    numbering: int = 0

    @property
    def mask(self) -> int:
        """The greatest offset, as a signed 64-bit integer with the same bits."""
        return (1 << self.bits) - 1 if self.bits < _WORD else -1


@dataclass(frozen=True)
class Layout:
    """The places of columns in their sort order; no column straddles two words."""

    places: tuple[Place, ...]
    words: int

    @classmethod
    def of(cls, domains: Sequence[Domain]) -> Layout:
        """The layout of columns in this order; spare bits of a word go to its columns, for growth."""
        groups: list[list[Domain]] = [[]]
        for domain in domains:
            if sum(d.bits for d in groups[-1]) + domain.bits > _WORD:
                groups.append([])
            groups[-1].append(domain)
        places = [place for word, group in enumerate(groups) for place in _spread(word, group)]
        return cls(tuple(places), len(groups))

    def holds(self, domains: Sequence[Domain]) -> bool:
        """Whether every value of the domains still has its place."""
        return all(
            p.bits >= d.bits and p.base == d.base and p.numbering == d.numbering
            for p, d in zip(self.places, domains, strict=True)
        )

    def pack(self, columns: Sequence[Raw], count: int) -> Words:
        """The words uint64[W, count] of rows given by their columns' offsets, in the sort order."""
        words = np.zeros((self.words, count), np.uint64)
        for place, column in zip(self.places, columns, strict=True):
            words[place.word] |= column << np.uint64(place.shift)
        return words

    def column(self, words: Words, index: int) -> Raw:
        """The offsets of one column of packed rows."""
        place = self.places[index]
        column: Raw = (words[place.word] >> np.uint64(place.shift)) & np.uint64(place.mask % (1 << 64))
        return column

    def values(self, words: Words) -> list[Values]:
        """The values of all columns of packed rows."""
        return [self._values(words, index) for index in range(len(self.places))]

    def _values(self, words: Words, index: int) -> Values:
        column = self.column(words, index)
        column += np.uint64(self.places[index].base % (1 << 64))
        return column.view(np.int64)

    def unpack(self, words: Words) -> list[Raw]:
        """The offsets of all columns of packed rows."""
        return [self.column(words, i) for i in range(len(self.places))]


def _spread(word: int, domains: Sequence[Domain]) -> list[Place]:
    spare = _WORD - sum(d.bits for d in domains)
    shift = _WORD
    places = []
    for i, domain in enumerate(domains):
        bits = domain.bits + spare // len(domains) + (i < spare % len(domains))
        shift -= bits
        places.append(Place(word, shift, bits, domain.base, domain.numbering))
    return places
