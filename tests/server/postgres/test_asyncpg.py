"""asyncpg against the server: it asks for the types of parameters and columns first, and then sends and reads binary.

Catches a type that is described as another one than its values are sent in, and a parameter whose type is not found.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from tests.server.postgres.conftest import Running

Connection = Any


def _run(running: Running, work: Callable[[Connection], Awaitable[None]]) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(host="127.0.0.1", port=running.port, user="ada", database="deltic")
        try:
            await work(connection)
        finally:
            await connection.close()

    asyncio.run(run())


def test_values(running: Running) -> None:
    row = (
        7,
        "é",
        Decimal("1.25"),
        dt.date(2026, 2, 1),
        dt.datetime(2026, 2, 1, 3, 4, 5, 6, dt.UTC),
        [1, None],
        True,
        -1e300,
        b"\0\1",
        dt.timedelta(days=2, microseconds=3),
        ["a", None],
    )
    types = "BIGINT, STRING, DECIMAL(9, 2), DATE, TIMESTAMP, ARRAY<INT>, BOOLEAN, DOUBLE, BINARY, "
    types += "INTERVAL DAY TO SECOND, ARRAY<STRING>"
    columns = ", ".join(f"c{n} {type_.strip()}" for n, type_ in enumerate(types.replace("(9, 2)", "(9;2)").split(",")))

    async def work(connection: Connection) -> None:
        await connection.execute(f"CREATE TABLE kept ({columns.replace(';', ',')})")
        places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
        await connection.execute(f"INSERT INTO kept VALUES ({places})", *row)
        assert [tuple(each) for each in await connection.fetch("SELECT * FROM kept")] == [row]

    _run(running, work)


PARAMETERS = [
    ("SELECT * FROM items WHERE id = $1 AND name = $2 LIMIT $3", ["int4", "text", "int8"]),
    ("SELECT * FROM items WHERE id IN ($1, $2) OR $3 < id + 1", ["int4", "int4", "int4"]),
    ("SELECT $1::int8, CAST($2 AS DATE), $3::text[], $4", ["int8", "date", "text[]", "text"]),
    ("INSERT INTO items (name, id) VALUES ($1, $2), ($3, -$4)", ["text", "int4", "text", "int4"]),
    ("UPDATE items SET name = $2 WHERE id BETWEEN $1 AND $3", ["int4", "text", "int4"]),
    ("SELECT n FROM names WHERE n > $1", ["int8"]),
]


@pytest.mark.parametrize(("text", "types"), PARAMETERS)
def test_types_of_parameters(running: Running, text: str, types: list[str]) -> None:
    async def work(connection: Connection) -> None:
        prepared = await connection.prepare(text)
        assert [type_.name for type_ in prepared.get_parameters()] == types

    _run(running, work)


def test_statements_of_many_kinds(running: Running) -> None:
    async def work(connection: Connection) -> None:
        assert await connection.execute("INSERT INTO items VALUES ($1, $2)", 1, "a") == "INSERT 0 1"
        await connection.executemany("INSERT INTO items VALUES ($1, $2)", [(2, "b"), (3, None)])
        assert await connection.copy_records_to_table("items", records=[(4, "a"), (5, None)]) == "COPY 2"
        assert await connection.fetchval("SELECT count(*) FROM items") == 5
        async with connection.transaction():
            seen = [row["id"] async for row in connection.cursor("SELECT id FROM items ORDER BY id", prefetch=2)]
        assert seen == [1, 2, 3, 4, 5]
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute("INSERT INTO items VALUES (1, 'x')")
        await connection.reset()

    _run(running, work)


def test_a_transaction_inside_of_one(running: Running) -> None:
    async def work(connection: Connection) -> None:
        async with connection.transaction():
            await connection.execute("INSERT INTO items VALUES (1, 'a')")
            with pytest.raises(asyncpg.UndefinedTableError):
                await _fail_inside(connection)
            await connection.execute("INSERT INTO items VALUES (3, 'c')")
        assert [row["id"] for row in await connection.fetch("SELECT id FROM items ORDER BY id")] == [1, 3]

    _run(running, work)


async def _fail_inside(connection: Connection) -> None:
    async with connection.transaction():
        await connection.execute("INSERT INTO items VALUES (2, 'b')")
        await connection.execute("SELECT * FROM nowhere")


def test_a_question_whose_task_is_cancelled(running: Running) -> None:
    async def work(connection: Connection) -> None:
        await connection.execute("CREATE TABLE many (x INT)")
        await connection.execute("INSERT INTO many SELECT explode(sequence(1, 3000))")
        with pytest.raises(TimeoutError):
            await connection.fetch("SELECT count(*) FROM many a, many b, many c WHERE a.x + b.x > c.x", timeout=0.5)
        assert await connection.fetchval("SELECT 1") == 1

    _run(running, work)
