"""The events of Nexmark: of 50 in a row one is a person, three are auctions and 46 are bids.

The proportions, hot keys and sizes are those of the published generator; the numbers are drawn by numpy, so that the
rows are others. An event's time is its number over the rate, from `BEGIN` on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BEGIN = 1_436_918_400_000_000
"""2015-07-15, in microseconds since 1970."""
PERSON, AUCTION, BID, TOTAL = 1, 3, 46, 50
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY = 1000, 1000, 10
CATEGORIES, ACTIVE_PEOPLE, IN_FLIGHT = 5, 1000, 100
HOT_AUCTION, HOT_BIDDER, HOT_SELLER, HOT_CHANNEL = 2, 4, 4, 2
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent")
FIRST = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")

TABLES = {
    "person": (
        "id BIGINT, name STRING, email STRING, card STRING, city STRING, state STRING, at TIMESTAMP, extra STRING"
    ),
    "auction": (
        "id BIGINT, item STRING, description STRING, initial BIGINT, reserve BIGINT, at TIMESTAMP, expires TIMESTAMP,"
        " seller BIGINT, category BIGINT, extra STRING"
    ),
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, at TIMESTAMP, extra STRING",
}


class Generator:
    """The events, batch by batch, with so many a second of the site's clock; equal seeds give equal events."""

    def __init__(self, rate: int, seed: int = 7) -> None:
        self.interval = 1_000_000 // rate
        self.random = np.random.default_rng(seed)

    def batches(self, events: int, size: int) -> Iterator[dict[str, pa.Table]]:
        """Batches of `size` events, a table for each stream."""
        for start in range(0, events, size):
            yield self.batch(np.arange(start, min(start + size, events)))

    def batch(self, numbers: np.ndarray) -> dict[str, pa.Table]:
        """The events of these numbers."""
        group, place = np.divmod(numbers, TOTAL)
        at = BEGIN + numbers * self.interval
        people, auctions, bids = (
            place < PERSON,
            (place >= PERSON) & (place < PERSON + AUCTION),
            place >= PERSON + AUCTION,
        )
        last_person = group * PERSON + np.minimum(place, PERSON - 1)
        last_auction = group * AUCTION + np.clip(place - PERSON, -1, AUCTION - 1)
        return {
            "person": self._people(last_person[people], at[people]),
            "auction": self._auctions(last_auction[auctions], last_person[auctions], at[auctions]),
            "bid": self._bids(last_auction[bids], last_person[bids], at[bids]),
        }

    def _people(self, ids: np.ndarray, at: np.ndarray) -> pa.Table:
        count = len(ids)
        names = pc.binary_join_element_wise(self._of(FIRST, count), self._of(LAST, count), " ")
        emails = pc.binary_join_element_wise(
            self._letters(count, 7), pa.scalar("@"), self._letters(count, 5), ".com", ""
        )
        cards = pc.binary_join_element_wise(*(self._digits(count) for _ in range(4)), " ")
        text = {"name": names, "email": emails, "card": cards}
        text |= {"city": self._of(CITIES, count), "state": self._of(STATES, count)}
        return pa.table({"id": ids + FIRST_PERSON, **text, "at": _times(at), "extra": self._letters(count, 120)})

    def _auctions(self, ids: np.ndarray, people: np.ndarray, at: np.ndarray) -> pa.Table:
        count, initial = len(ids), self._prices(len(ids))
        hot = self.random.integers(0, HOT_SELLER, count) > 0
        sellers = np.where(hot, people // HOT_SELLER * HOT_SELLER, self._person(people))
        expires = at + 1000 + self.random.integers(0, 2 * IN_FLIGHT * TOTAL // AUCTION * self.interval, count)
        return pa.table(
            {
                "id": ids + FIRST_AUCTION,
                "item": self._letters(count, 20),
                "description": self._letters(count, 100),
                "initial": initial,
                "reserve": initial + self._prices(count),
                "at": _times(at),
                "expires": _times(expires),
                "seller": sellers + FIRST_PERSON,
                "category": FIRST_CATEGORY + self.random.integers(0, CATEGORIES, count),
                "extra": self._letters(count, 250),
            }
        )

    def _bids(self, auctions: np.ndarray, people: np.ndarray, at: np.ndarray) -> pa.Table:
        count, random = len(auctions), self.random
        hot = random.integers(0, HOT_AUCTION, count) > 0
        least = np.maximum(auctions - IN_FLIGHT, 0)
        cold = least + random.integers(0, auctions - least + 2)
        chosen = np.where(hot, np.maximum(auctions, 0) // 100 * 100, np.minimum(cold, np.maximum(auctions, 0)))
        eager = random.integers(0, HOT_BIDDER, count) > 0
        bidders = np.where(eager, people // 100 * 100 + 1, self._person(people))
        known = random.integers(0, HOT_CHANNEL, count) > 0
        number = random.integers(0, 10_000, count)
        channels = np.where(known, np.array(CHANNELS)[number % 4], np.char.add("channel-", number.astype(str)))
        path = np.where(known, number % 4, number)
        urls = np.char.add(np.char.add("https://www.nexmark.com/", self._paths(path)), "/item.htm?query=1")
        urls = np.where(known, urls, np.char.add(np.char.add(urls, "&channel_id="), number.astype(str)))
        return pa.table(
            {
                "auction": chosen + FIRST_AUCTION,
                "bidder": bidders + FIRST_PERSON,
                "price": self._prices(count),
                "channel": channels.tolist(),
                "url": urls.tolist(),
                "at": _times(at),
                "extra": self._letters(count, 40),
            }
        )

    def _paths(self, numbers: np.ndarray) -> np.ndarray:
        """Three folders of a page for each number."""
        letters = np.array(list("abcdefghijklmnop"))
        parts = ["".join(letters[(number >> shift) % 16] for shift in (0, 4, 8, 12)) for number in range(10_000)]
        folders = np.array([f"{part}/{part[::-1]}/{part[1:]}" for part in parts])
        result: np.ndarray = folders[numbers]
        return result

    def _person(self, people: np.ndarray) -> np.ndarray:
        """One of the people who came last for each event."""
        active = np.minimum(people + 1, ACTIVE_PEOPLE)
        result: np.ndarray = people + 1 - active + self.random.integers(0, active)
        return result

    def _prices(self, count: int) -> np.ndarray:
        return np.round(10 ** (self.random.random(count) * 6) * 100).astype(np.int64)

    def _of(self, texts: tuple[str, ...], count: int) -> pa.Array:
        return pa.array(texts).take(pa.array(self.random.integers(0, len(texts), count)))

    def _digits(self, count: int) -> pa.Array:
        return pa.array(self.random.integers(1000, 10_000, count)).cast(pa.string())

    def _letters(self, count: int, length: int) -> pa.Array:
        """Texts of lower-case letters, of `length`."""
        letters = self.random.integers(97, 123, count * length, dtype=np.uint8)
        offsets = pa.array(np.arange(0, (count + 1) * length, length, dtype=np.int32))
        return pa.StringArray.from_buffers(count, offsets.buffers()[1], pa.py_buffer(letters))


def _times(microseconds: np.ndarray) -> pa.Array:
    return pa.array(microseconds, pa.timestamp("us", "UTC"))
