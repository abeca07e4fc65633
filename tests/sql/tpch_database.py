"""A small random database of TPC-H's tables, dense where the 22 queries look, with foreign keys that match."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

QUERIES = Path(__file__).parents[2] / "benchmarks" / "tpch"
Row = tuple[Any, ...]
Database = dict[str, list[Row]]

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (("BRAZIL", 1), ("CANADA", 1), ("CHINA", 2), ("FRANCE", 3), ("GERMANY", 3), ("SAUDI ARABIA", 4))
COLOURS = ("forest", "green", "ivory")
TYPES = ("ECONOMY ANODIZED STEEL", "PROMO BURNISHED BRASS", "SMALL PLATED BRASS", "MEDIUM POLISHED TIN")
CONTAINERS = {"Brand#12": "SM CASE", "Brand#23": "MED BOX", "Brand#34": "LG PKG", "Brand#45": "SM CASE"}
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW")
ORDER_COMMENTS = ("none", "special packages, requests", "special care")
SUPPLIER_COMMENTS = ("fine", "slow", "Customer said: Complaints", "Complaints of no Customer")
FIRST_DAY, DAYS = datetime.date(1993, 6, 1), 1300
SUPPLIERS, CUSTOMERS, PARTS = 16, 40, 30


def random_database(rng: random.Random, orders: int) -> Database:
    """Rows of all tables by name; the keys of orders are the numbers from 0 on."""
    found: Database = {
        "region": [(i, name, "") for i, name in enumerate(REGIONS)],
        "nation": [(i, name, region, "") for i, (name, region) in enumerate(NATIONS)],
        "supplier": [_supplier(rng, key) for key in range(SUPPLIERS)],
        "customer": [_customer(rng, key) for key in range(CUSTOMERS)],
        "part": [_part(rng, key) for key in range(PARTS)],
        "partsupp": [row for key in range(PARTS) for row in _supplies(rng, key)],
        "orders": [],
        "lineitem": [],
    }
    for key in range(orders):
        order, items = _order(rng, key)
        found["orders"].append(order)
        found["lineitem"] += items
    return found


def of_orders(rows: Sequence[Row], keys: set[int]) -> list[Row]:
    """The rows of orders, or of line items, that belong to these orders."""
    return [row for row in rows if row[0] in keys]


def _money(rng: random.Random, least: int, greatest: int) -> Decimal:
    return Decimal(rng.randint(least, greatest)).scaleb(-2)


def _phone(rng: random.Random) -> str:
    return f"{rng.choice((13, 17, 29, 31, 11))}-{rng.randint(100, 999)}"


def _supplier(rng: random.Random, key: int) -> Row:
    nation, comment = key % len(NATIONS), rng.choice(SUPPLIER_COMMENTS)
    return (key, f"Supplier#{key}", f"street {key}", nation, _phone(rng), _money(rng, -99999, 999999), comment)


def _customer(rng: random.Random, key: int) -> Row:
    nation, segment = rng.randrange(len(NATIONS)), rng.choice(("BUILDING", "MACHINERY"))
    return (key, f"Customer#{key}", f"lane {key}", nation, _phone(rng), _money(rng, -99999, 999999), segment, "")


def _part(rng: random.Random, key: int) -> Row:
    name = " ".join(rng.sample(COLOURS, 2))
    kind, size = rng.choice(TYPES), rng.choice((3, 9, 14, 15))
    brand, price = rng.choice(list(CONTAINERS)), _money(rng, 90000, 110000)
    return (key, name, "Manufacturer#1", brand, kind, size, CONTAINERS[brand], price, "")


def _supplies(rng: random.Random, part: int) -> list[Row]:
    return [(part, supplier, rng.randint(1, 200), _money(rng, 100, 100000), "") for supplier in _suppliers(part)]


def _suppliers(part: int) -> list[int]:
    return [(part + 4 * i) % SUPPLIERS for i in range(4)]


def _order(rng: random.Random, key: int) -> tuple[Row, list[Row]]:
    day, big = FIRST_DAY + datetime.timedelta(rng.randrange(DAYS)), rng.random() < 0.1
    items = [_item(rng, key, number, day, big) for number in range(7 if big else rng.randint(1, 6))]
    customer = rng.randrange(CUSTOMERS * 3 // 4)  # the others have no orders
    status, price = rng.choice("FFO"), sum((item[5] for item in items), Decimal(0))
    comment = rng.choice(ORDER_COMMENTS)
    return (key, customer, status, price, day, rng.choice(PRIORITIES), "Clerk#1", 0, comment), items


def _item(rng: random.Random, order: int, number: int, day: datetime.date, big: bool) -> Row:
    part = rng.randrange(PARTS)
    supplier = rng.choice(_suppliers(part))
    quantity = Decimal(rng.choice((44, 47, 50) if big else (1, 2, 5, 12, 22, 30)))
    discount, tax = Decimal(rng.randint(0, 10)).scaleb(-2), Decimal(rng.randint(0, 8)).scaleb(-2)
    ship, commit = (day + datetime.timedelta(rng.randint(*days)) for days in ((1, 121), (30, 90)))
    receipt = ship + datetime.timedelta(rng.randint(1, 30))
    amounts = (quantity, quantity * _money(rng, 90000, 110000), discount, tax)
    instruction, mode = rng.choice(("DELIVER IN PERSON", "NONE")), rng.choice(("AIR", "MAIL", "SHIP"))
    flags = (rng.choice("RAN"), rng.choice("OF"))
    return (order, part, supplier, number, *amounts, *flags, ship, commit, receipt, instruction, mode, "")
