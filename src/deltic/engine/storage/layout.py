"""How rows become integers: domains of values, and the bits of each column in the words of a row."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.packing import pack_offsets, pack_values, unpack_offsets
from deltic.engine.kernels.types import Table
from deltic.engine.storage.run import Words
from deltic.values.types import Type

Values = npt.NDArray[np.int64]
Raw = npt.NDArray[np.uint64]
Nulls = npt.NDArray[np.bool_] | None  # which values are NULL, whatever else stands there; None for none
Column = tuple[Values, Nulls]

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1

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
    `numbering` counts how often values were reassigned, which those of labels alone are (see `value_order`).

    In a nullable domain offset 0 is NULL, the least, and no value has it. Offsets are modulo 2⁶⁴: when it has both the
    least and the greatest of all int64, NULL takes the place of a value that no column holds, and the values below that
    one come after all others (`is_turned`).
    """

    type: Type
    base: int = 0
    bits: int = 1
    empty: bool = True
    growth: int = 0
    numbering: int = 0
    nullable: bool = False
    is_turned: bool = False

    @classmethod
    def of_ids(cls, type_: Type) -> Domain:
        """The domain of ids, which are counted from 0."""
        return cls(type_, empty=False)

    @classmethod
    def all(cls, type_: Type) -> Domain:
        """The domain of all values."""
        return cls(type_, LEAST, _WORD, empty=False)

    def admit_null(self) -> None:
        """Make room for NULL before the least value, if there is none."""
        if self.nullable:
            return
        low, high = self.range()
        self.nullable, self.base, self.growth = True, self.base - 1, self.growth + 1
        if not self.empty:
            self.extend(low, high)

    def fits(self, low: int, high: int) -> bool:
        """Whether all values from `low` to `high` have an offset; none in an empty domain, whose base may move.

        In a turned domain all have, but one: `avoids` tells.
        """
        if self.is_turned:
            return not low == high == self.base
        return not self.empty and low - self.nullable >= self.base and high - self.base < 1 << self.bits

    def avoids(self, values: Values) -> bool:
        """Whether none of the values is the one whose place NULL has taken."""
        return not self.is_turned or not bool((values == self.base).any())

    def range(self) -> tuple[int, int]:
        """The least and the greatest value that fit, but for the base of a turned domain; none in an empty domain."""
        if self.is_turned:
            return LEAST, GREATEST
        return (1, 0) if self.empty else (self.base + self.nullable, min(self.base + (1 << self.bits) - 1, GREATEST))

    def include(self, low: int, high: int) -> None:
        """Make room for the values from `low` to `high` if they do not fit yet."""
        if not self.fits(low, high):
            self.extend(low, high)

    def admit(self, values: Values) -> None:
        """Make room for all of these values."""
        if values.size:
            self.include(int(values.min()), int(values.max()))
            if not self.avoids(values):
                self.extend(self.base, self.base)

    def extend(self, low: int, high: int) -> None:
        """Make room for the values from `low` to `high`."""
        self.growth += 1
        if self.is_turned:
            self._turn()
            return
        if self.empty:
            self.empty = False
            near_zero = low >= 0 and high.bit_length() <= (high - low).bit_length() + 2
            self.base = (0 if near_zero else low) - self.nullable
        least, (_, top) = low - self.nullable, self.range()
        if least < self.base:
            high = max(top, high)
            ample = max(least - (high - least) // 8, LEAST - self.nullable)
            self.base = ample if high - ample < 1 << _WORD else least
        self.bits = max(self.bits, (high - self.base).bit_length())
        if self.bits > _WORD:
            self._turn()

    def _turn(self) -> None:
        """Let NULL have the place of a value that nobody holds: hardly any one is held."""
        self.is_turned, self.base, self.bits = True, random.SystemRandom().randrange(LEAST + 1, GREATEST), _WORD

    def extend_amply(self, low: int, high: int, time: int) -> None:
        """Make room for the values and, beyond them, for more that are to come.

        The first `time` for 15 times as many as there are, then for 255, 65,535 and so on, so that no recursion has to
        ask for room more than five times.
        """
        least, greatest = self.range()
        more = (1 << (1 << min(time + 1, 6))) - 1
        self.extend(
            max(low - more * (greatest - low), LEAST) if low < least else low,
            min(high + more * (high - least), GREATEST) if high > greatest else high,
        )

    def encode(self, values: Values, nulls: Nulls = None) -> Raw:
        """The offsets of values that fit, and of NULL."""
        raw = values.view(np.uint64) - np.uint64(self.base % (1 << 64))
        if nulls is not None:
            assert self.nullable or not nulls.any()
            raw[nulls] = 0
        return raw

    def place(self, values: Values, nulls: Nulls = None) -> Raw:
        """The offsets of computed values and of NULL; DomainOverflow where one has none."""
        there = values if nulls is None else values[~nulls]
        if there.size:
            low, high = int(there.min()), int(there.max())
            if not self.fits(low, high):
                raise DomainOverflow(self, low, high)
            if not self.avoids(there):
                raise DomainOverflow(self, self.base, self.base)
        return self.encode(values, nulls)

    def decode(self, raw: Raw) -> Values:
        """The values of offsets, of any but that of NULL."""
        return (raw + np.uint64(self.base % (1 << 64))).view(np.int64)

    def nulls(self, raw: Raw) -> Nulls:
        """Which offsets are NULL; None when none can be."""
        return raw == 0 if self.nullable else None

    def moved(self, raw: Raw, old: Place) -> Raw:
        """The present offsets of what had these offsets when `old` was its place; DomainOverflow if one has none."""
        moved = raw + np.uint64((old.base - self.base) % (1 << 64))
        if not self.nullable:
            return moved
        nulls = (raw == 0) & old.nullable
        if ((moved == 0) & ~nulls).any():
            raise DomainOverflow(self, self.base, self.base)
        moved[nulls] = 0
        return moved


class Sorted(Domain):
    """A domain of values without NULL, in whose place `anchor` stands: one that moves no other value."""

    anchor = 0

    def extend(self, low: int, high: int) -> None:
        if self.empty:
            self.anchor = low
        super().extend(low, high)


def placed(domains: Iterable[Domain], columns: Iterable[Column]) -> list[Raw]:
    """The offsets of computed columns; where some have no place, all their domains get room at once."""
    result, overflows = [], list[DomainOverflow]()
    for domain, (values, nulls) in zip(domains, columns, strict=True):
        try:
            result.append(domain.place(values, nulls))
        except DomainOverflow as overflow:
            overflows.append(overflow)
    for other in overflows[1:]:
        other.domain.extend(other.low, other.high)
    if overflows:
        raise overflows[0]
    return result


@dataclass(frozen=True)
class Place:
    """Where a column's offset stands: `bits` bits of word `word` above `shift`, from `base` in a `numbering`.

    Offset 0 is NULL where that is possible.
    """

    word: int
    shift: int
    bits: int
    base: int
    numbering: int = 0
    nullable: bool = False

    @property
    def mask(self) -> int:
        """The greatest offset, as a signed 64-bit integer with the same bits."""
        return (1 << self.bits) - 1 if self.bits < _WORD else -1

    def offset(self, value: int | None) -> int | None:
        """The offset of a value or of NULL (None); None where it has none, so that no row holds it."""
        if value is None:
            return 0 if self.nullable else None
        raw = (value - self.base) % (1 << _WORD)
        return None if raw > self.mask % (1 << _WORD) or (self.nullable and not raw) else raw

    def reach(self, low: int, high: int) -> tuple[int, int] | None:
        """The offsets of the values from `low` to `high`, where they follow each other and end with those in use.

        None where some of them may come after all others, as in a domain that is turned.
        """
        if self.bits == _WORD and low < self.base:
            return None
        least, greatest = max(low, self.base + self.nullable), min(high, self.base + (1 << self.bits) - 1)
        return (least - self.base, greatest - self.base) if least <= greatest else (1, 0)

    def within(self, raw: Raw, low: int, high: int) -> npt.NDArray[np.bool_]:
        """Which offsets are of values from `low` to `high`."""
        if low > high:
            return np.zeros(len(raw), np.bool_)
        result: npt.NDArray[np.bool_] = raw - np.uint64((low - self.base) % (1 << _WORD)) <= np.uint64(high - low)
        return result & (raw != 0) if self.nullable else result

    def offsets(self, values: Values, nulls: Nulls = None) -> tuple[Raw, npt.NDArray[np.bool_]]:
        """The same for many, and which of them have one."""
        raw = values.view(np.uint64) - np.uint64(self.base % (1 << _WORD))
        there = raw <= np.uint64(self.mask % (1 << _WORD))
        if self.nullable:
            there &= raw != 0
        if nulls is not None:
            raw[nulls] = 0
            there[nulls] = self.nullable
        return raw, there


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
            p.bits >= d.bits and p.base == d.base and p.numbering == d.numbering and p.nullable == d.nullable
            for p, d in zip(self.places, domains, strict=True)
        )

    @cached_property
    def table(self) -> Table:
        """The places as kernels take them: of each word, shift, mask and base."""
        rows = [(p.word, p.shift, p.mask, _signed(p.base)) for p in self.places]
        return np.array(rows, np.int64).reshape(-1, 4)

    def pack(self, columns: Iterable[Raw], count: int) -> Words:
        """The words uint64[W, count] of rows given by their columns' offsets, in the sort order."""
        words, given = np.zeros((self.words, count), np.uint64), [np.ascontiguousarray(column) for column in columns]
        assert len(given) == len(self.places), f"{len(given)} columns for {len(self.places)} places"
        if given and count:
            pack_offsets(np.array([address_of(column) for column in given]), self.table, words)
        return words

    def pack_values(self, columns: Sequence[Column], count: int) -> Words:
        """The same of rows given by their columns' values, all of which have places."""
        words = np.zeros((self.words, count), np.uint64)
        if columns and count:
            pack_values(addresses(columns), self.table, words)
        return words

    def between(self, begin: Sequence[Raw]) -> tuple[Raw, Raw]:
        """The least and the greatest first word of rows that begin with these offsets: one column of them at least."""
        places = [place for place in self.places[: len(begin)] if not place.word]
        low = np.zeros(len(begin[0]), np.uint64)
        for place, column in zip(places, begin, strict=False):
            low |= column << np.uint64(place.shift)
        return low, low | np.uint64((1 << places[-1].shift) - 1)

    def beginning(self, columns: Sequence[Column]) -> list[Raw]:
        """The offsets of rows that begin with these values, where a row can have them."""
        result = [place.offsets(*column) for place, column in zip(self.places, columns, strict=False)]
        there = np.logical_and.reduce([known for _, known in result])
        return [raw[there] for raw, _ in result]

    def column(self, words: Words, index: int) -> Raw:
        """The offsets of one column of packed rows."""
        place = self.places[index]
        column: Raw = (words[place.word] >> np.uint64(place.shift)) & np.uint64(place.mask % (1 << 64))
        return column

    def values(self, words: Words) -> list[Column]:
        """The values of all columns of packed rows."""
        return [self.value(words, index) for index in range(len(self.places))]

    def value(self, words: Words, index: int) -> Column:
        """The values of one column of packed rows."""
        place, column = self.places[index], self.column(words, index)
        nulls = column == 0 if place.nullable else None
        column += np.uint64(place.base % (1 << 64))
        return column.view(np.int64), nulls

    def unpack(self, words: Words) -> list[Raw]:
        """The offsets of all columns of packed rows."""
        offsets = np.empty((len(self.places), words.shape[1]), np.uint64)
        unpack_offsets(np.ascontiguousarray(words), self.table, offsets)
        return list(offsets)


def addresses(columns: Sequence[Column]) -> Table:
    """Where the values of columns are, and the bytes that say which are NULL, 0 for none: int64[n, 2].

    They have to be contiguous, and stay alive as long as kernels use their addresses.
    """
    return np.array([(address_of(v), 0 if nulls is None else address_of(nulls)) for v, nulls in columns], np.int64)


def _signed(word: int) -> int:
    """The signed integer that has the bits of a word."""
    return (word + (1 << 63)) % (1 << 64) - (1 << 63)


def _spread(word: int, domains: Sequence[Domain]) -> list[Place]:
    spare = _WORD - sum(d.bits for d in domains)
    shift = _WORD
    places = []
    for i, domain in enumerate(domains):
        bits = domain.bits + spare // len(domains) + (i < spare % len(domains))
        shift -= bits
        places.append(Place(word, shift, bits, domain.base, domain.numbering, domain.nullable))
    return places
