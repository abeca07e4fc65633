"""`deltic serve --demo`: a shop that receives random orders."""

from __future__ import annotations

import random
from contextlib import suppress

from deltic.errors import DelticError
from deltic.server.repeating import Repeating
from deltic.server.service import Service

PROGRAM = """
CREATE TABLE customer (id INT PRIMARY KEY, name STRING, referred_by INT);
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, item STRING, price DECIMAL(10, 2), at TIMESTAMP);

CREATE VIEW takings AS
SELECT item, count(*) AS orders, sum(price) AS total FROM orders GROUP BY item;

CREATE VIEW best_customers AS
SELECT name, sum(price) AS spent FROM orders JOIN customer ON customer = customer.id
GROUP BY name ORDER BY spent DESC LIMIT 5;

CREATE VIEW referred AS
WITH RECURSIVE chain (ancestor, id) AS (
    SELECT referred_by, id FROM customer WHERE referred_by IS NOT NULL
    UNION
    SELECT chain.ancestor, customer.id FROM chain JOIN customer ON customer.referred_by = chain.id
)
SELECT * FROM chain;

CREATE VIEW reward AS
SELECT ancestor AS customer, sum(price) / 20 AS reward
FROM referred JOIN orders ON orders.customer = referred.id GROUP BY ancestor;
"""
_ITEMS = {"apples": 3, "bread": 4, "cheese": 9, "dates": 6, "eggs": 5, "figs": 7}
_NAMES = (
    *("Ada", "Ben", "Cyd", "Dan", "Eva", "Fay", "Gus", "Hal"),
    *("Ida", "Jan", "Kay", "Leo", "Mia", "Ned", "Ola", "Pia"),
)
_PAUSE = 0.5
"""Seconds between changes."""
_KEPT = 5_000
"""Orders that stay; older ones are archived, so that the demonstration may go on for days."""


class Demonstration:
    """Sends orders to a service until `close`."""

    def __init__(self, service: Service) -> None:
        self._service, self._random = service, random.Random(7)
        self._number = max((row.id for row in service.pipeline["orders"]), default=0)
        if not len(service.pipeline["customer"]):
            service.apply({"customer": [{"op": "+", **customer} for customer in _customers()]})
        self.close = Repeating(self._send, _PAUSE, "deltic demonstration").close

    def _send(self) -> None:
        with suppress(DelticError):  # a visitor has changed the tables
            self._service.execute(*self._orders())
            self._service.execute("DELETE FROM orders WHERE id <= ?", [self._number - _KEPT])

    def _orders(self) -> tuple[str, list[object]]:
        """Return an INSERT of some random orders, and its arguments."""
        args: list[object] = []
        count = self._random.randint(1, 5)
        for _ in range(count):
            self._number += 1
            item = self._random.choice(list(_ITEMS))
            args += [self._number, self._random.randrange(len(_NAMES)), item, _ITEMS[item] * self._random.randint(1, 9)]
        values = ", ".join(["(?, ?, ?, ?, current_timestamp())"] * count)
        return f"INSERT INTO orders VALUES {values}", args


def _customers() -> list[dict[str, object]]:
    return [
        {"id": number, "name": name, "referred_by": (number - 1) // 2 if number else None}
        for number, name in enumerate(_NAMES)
    ]
