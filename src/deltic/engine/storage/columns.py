"""Columns of values: their domains, the places of these in words, and the arrays that kernels read and fill.

What must hold:

* Columns that are compared with one another have one domain: equal values have equal offsets in it.
* A domain only grows. A value that has no offset in a place is in no row that was packed by it, so that a look-up of it
  finds nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels import packing
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.types import Table
from deltic.engine.storage import spilling as space
from deltic.values.types import Type

Values = npt.NDArray[np.int64]
Raw = npt.NDArray[np.uint64]
Nulls = npt.NDArray[np.bool_] | None  # which values are NULL, whatever else stands there; None for none
Column = tuple[Values, Nulls]

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1

_WORD = 64
_TICKS = count(1)


class DomainOverflow(Exception):
    """A computed value is outside its domain. Run the epoch again after `domain.extend(low, high)`."""

    def __init__(self, domain: Domain, low: int, high: int) -> None:
        super().__init__(f"{domain} does not hold {low}..{high}")
        self.domain, self.low, self.high = domain, low, high


@dataclass(frozen=True)
class Place:
    """The place of a column's offset: `bits` bits of word `word` above `shift`, from `base` in a `numbering`.

    Offset 0 is NULL if the place is nullable.
    """

    word: int
    shift: int
    bits: int
    base: int
    numbering: int = 0
    nullable: bool = False

    @property
    def mask(self) -> int:
        """Return the greatest offset, as a signed 64-bit integer with the same bits."""
        return (1 << self.bits) - 1 if self.bits < _WORD else -1

    @property
    def found(self) -> tuple[int, int, int]:
        """Return the word, shift and mask, as kernels take them."""
        return self.word, self.shift, self.mask

    def reach(self, low: int, high: int) -> tuple[int, int] | None:
        """Return the least and greatest offset of the values from `low` to `high`; (1, 0) if none of them is in use.

        None if the offsets may not be contiguous, as in a turned domain.
        """
        if self.bits == _WORD and low < self.base:
            return None
        least, greatest = max(low, self.base + self.nullable), min(high, self.base + (1 << self.bits) - 1)
        return (least - self.base, greatest - self.base) if least <= greatest else (1, 0)

    def within(self, raw: Raw, low: int, high: int) -> npt.NDArray[np.bool_]:
        """Return the mask of the offsets whose values are from `low` to `high`."""
        if low > high:
            return np.zeros(len(raw), np.bool_)
        result: npt.NDArray[np.bool_] = raw - np.uint64((low - self.base) % (1 << _WORD)) <= np.uint64(high - low)
        return result & (raw != 0) if self.nullable else result

    def offsets(self, values: Values, nulls: Nulls = None) -> tuple[Raw, npt.NDArray[np.bool_]]:
        """Return the offsets of many values, and the mask of those that have one."""
        raw = values.view(np.uint64) - np.uint64(self.base % (1 << _WORD))
        there = raw <= np.uint64(self.mask % (1 << _WORD))
        if self.nullable:
            there &= raw != 0
        if nulls is not None:
            raw[nulls] = 0
            there[nulls] = self.nullable
        return raw, there


@dataclass(eq=False)
class Domain:
    """The values of columns that are compared with one another, as `bits`-bit offsets from `base`.

    Values are int64 in the order of the type (see `codec`). A domain only grows; `growth` is the time of its last
    growth, `latest` that of any domain, in ticks. `numbering` counts how often values were reassigned, which only
    happens to labels (see `value_order`).

    In a nullable domain offset 0 is NULL, which is the least and belongs to no value. Offsets are modulo 2⁶⁴. A domain
    with both the least and the greatest int64 `is_turned`: NULL takes the place of a value that no column holds, and
    the values below that one come after all others.
    """

    type: Type
    base: int = 0
    bits: int = 1
    empty: bool = True
    growth: int = 0
    latest: ClassVar[int] = 0
    numbering: int = 0
    nullable: bool = False
    is_turned: bool = False

    @classmethod
    def all(cls, type_: Type) -> Domain:
        """Return the domain of all int64 values."""
        return cls(type_, LEAST, _WORD, empty=False)

    def admit_null(self) -> None:
        """Make the domain nullable: NULL comes before the least value."""
        if self.nullable:
            return
        low, high = self.range()
        self.nullable, self.base = True, self.base - 1
        self.grow()
        if not self.empty:
            self.extend(low, high)

    def fits(self, low: int, high: int) -> bool:
        """Return whether all values from `low` to `high` have an offset. In an empty domain none has; its base may
        move.

        In a turned domain all values have one except the value whose place NULL has taken, see `avoids`.
        """
        if self.is_turned:
            return not low == high == self.base
        return not self.empty and low - self.nullable >= self.base and high - self.base < 1 << self.bits

    def avoids(self, values: Values) -> bool:
        """Return whether none of the values is the one whose place NULL has taken."""
        return not self.is_turned or not bool((values == self.base).any())

    def range(self) -> tuple[int, int]:
        """Return the least and greatest value that fit; (1, 0) in an empty domain. Ignores a turned domain's gap."""
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
        self.grow()
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

    def grow(self) -> None:
        """Note that the domain grows."""
        self.growth = Domain.latest = next(_TICKS)

    def _turn(self) -> None:
        """Give NULL the place of a random value. It is unlikely that a column holds this value."""
        self.is_turned, self.base, self.bits = True, random.SystemRandom().randrange(LEAST + 1, GREATEST), _WORD

    def extend_amply(self, low: int, high: int, time: int) -> None:
        """Make room for the values and, beyond them, for more that may follow.

        The first `time` for 15 times the present range, then for 255 times, 65,535 times and so on, so that a recursion
        extends a domain at most five times.
        """
        least, greatest = self.range()
        more = (1 << (1 << min(time + 1, 6))) - 1
        self.extend(
            max(low - more * (greatest - low), LEAST) if low < least else low,
            min(high + more * (high - least), GREATEST) if high > greatest else high,
        )

    def encode(self, values: Values, nulls: Nulls = None) -> Raw:
        """Return the offsets of values that fit, and of NULL."""
        raw = values.view(np.uint64) - np.uint64(self.base % (1 << 64))
        if nulls is not None:
            assert self.nullable or not nulls.any()
            raw[nulls] = 0
        return raw

    def decode(self, raw: Raw) -> Values:
        """Return the values of offsets, none of them that of NULL."""
        return (raw + np.uint64(self.base % (1 << 64))).view(np.int64)

    def nulls(self, raw: Raw) -> Nulls:
        """Return the mask of the offsets that are NULL; None if the domain is not nullable."""
        return raw == 0 if self.nullable else None

    def moved(self, raw: Raw, old: Place) -> Raw:
        """Return the present offsets for offsets in the place `old`. DomainOverflow if one has none."""
        moved = raw + np.uint64((old.base - self.base) % (1 << 64))
        if not self.nullable:
            return moved
        nulls = (raw == 0) & old.nullable
        if ((moved == 0) & ~nulls).any():
            raise DomainOverflow(self, self.base, self.base)
        moved[nulls] = 0
        return moved


class Sorted(Domain):
    """A domain of values that are only sorted. NULL is stored as `anchor`, a value that does not extend the domain."""

    anchor = 0

    def extend(self, low: int, high: int) -> None:
        if self.empty:
            self.anchor = low
        super().extend(low, high)


def placed(domains: Sequence[Domain], columns: Iterable[Column]) -> Sequence[Column]:
    """Return computed columns as contiguous arrays, all of whose values have places.

    Raises DomainOverflow if some have none; all other domains that lack a place are extended at once.
    """
    result = AddressedColumns.of(columns)
    if not fit(domains, result):
        overflow(domains, result)
    return result


def overflow(domains: Sequence[Domain], columns: Sequence[Column]) -> None:
    """Raise DomainOverflow if some values have no places; all but one of their domains are extended at once."""
    overflows = list[DomainOverflow]()
    for domain, (values, nulls), (low, high) in zip(domains, columns, reaches(columns), strict=True):
        assert nulls is None or domain.nullable or not nulls.any()
        if low > high:
            continue
        if not domain.fits(low, high):
            overflows.append(DomainOverflow(domain, low, high))
        elif domain.is_turned and not domain.avoids(values if nulls is None else values[~nulls]):
            overflows.append(DomainOverflow(domain, domain.base, domain.base))
    for other in overflows[1:]:
        other.domain.extend(other.low, other.high)
    if overflows:
        raise overflows[0]


def fit(domains: Sequence[Domain], columns: Sequence[Column]) -> bool:
    """Return whether all values of columns, in contiguous arrays, have places."""
    return not columns or bool(packing.all_fit(addresses(columns), len(columns[0][0]), limits(tuple(domains))))


def limits(domains: tuple[Domain, ...]) -> Table:
    """Return the present limits of domains, see `kernels.packing`."""
    return _limits(domains, Domain.latest)


@lru_cache(1 << 10)
def _limits(domains: tuple[Domain, ...], latest: int) -> Table:
    """Return the limits as of a tick."""
    rows = [(*d.range(), d.nullable, d.is_turned, signed(d.base)) for d in domains]
    return np.array(rows, np.int64).reshape(-1, 5)


def concatenated(parts: Sequence[Column]) -> Column:
    """Return the values of several parts of a column as one."""
    values = np.concatenate([values for values, _ in parts])
    if all(nulls is None for _, nulls in parts):
        return values, None
    return values, np.concatenate([np.zeros(len(v), np.bool_) if n is None else n for v, n in parts])


def reaches(columns: Sequence[Column]) -> list[tuple[int, int]]:
    """Return the least and the greatest value of each column that is not NULL; the least is greater if there is none.

    The arrays must be contiguous.
    """
    if not columns:
        return []
    reach = np.empty((len(columns), 2), np.int64)
    packing.ranges(addresses(columns), len(columns[0][0]), reach)
    return [(low, high) for low, high in reach.tolist()]


class AddressedColumns(tuple[Column, ...]):
    """Columns in contiguous arrays, whose addresses are taken once for all kernels that read them."""

    @classmethod
    def of(cls, columns: Iterable[Column]) -> AddressedColumns:
        """Return columns, copied where their arrays are not contiguous."""
        contiguous = np.ascontiguousarray
        return cls((contiguous(v), None if nulls is None else contiguous(nulls)) for v, nulls in columns)

    @cached_property
    def addresses(self) -> Table:
        """Return the addresses of values and NULL masks, as `addresses` does."""
        every = [(address_of(v), 0 if nulls is None else address_of(nulls)) for v, nulls in self]
        return np.array(every, np.int64).reshape(-1, 2)


class ColumnBlock(Sequence[Column]):
    """Columns in memory that a kernel fills by the addresses `into`, of values and of NULL masks: int64[n, 2].

    Masks are zero at first; those that are `nullable` count.
    """

    def __init__(self, columns: int, count: int) -> None:
        self._values = space.empty((columns, count), np.dtype(np.int64))
        nulls = np.zeros(columns * count, np.uint8)
        self._nulls = nulls.view(bool).reshape(columns, count)
        self.nullable = np.zeros(columns, np.int64)
        self.into = packing.places_of(self._values, nulls)

    @property
    def addresses(self) -> Table:
        """Return the addresses of values and NULL masks, as `addresses` does."""
        result = self.into.copy()
        result[:, 1] *= self.nullable
        return result

    def put(self, place: int, values: Values, nulls: Nulls) -> None:
        """Set one column."""
        self._values[place] = values
        if nulls is not None:
            self._nulls[place], self.nullable[place] = nulls, 1

    def __len__(self) -> int:
        return len(self.nullable)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        return self._values[place], self._nulls[place] if self.nullable[place] else None


def addresses(columns: Sequence[Column]) -> Table:
    """Return the addresses of the values and NULL masks of columns, 0 for no mask: int64[n, 2].

    The arrays must be contiguous, and stay alive as long as kernels use their addresses.
    """
    if isinstance(columns, AddressedColumns | ColumnBlock):
        return columns.addresses
    return AddressedColumns(columns).addresses


def signed(word: int) -> int:
    """Return the signed 64-bit integer that is congruent to a word modulo 2⁶⁴."""
    return (word + (1 << 63)) % (1 << 64) - (1 << 63)
