"""A server of PostgreSQL's protocol on a free port of this machine, for real clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import deltic
from deltic.server.limits import Limits
from deltic.server.listening import Address
from deltic.server.postgres.server import PostgresServer
from deltic.server.service import Service

PROGRAM = """
    CREATE TABLE items (id INT NOT NULL, name STRING, PRIMARY KEY (id));
    CREATE MATERIALIZED VIEW names AS SELECT name, count(*) AS n FROM items GROUP BY name;
"""


class Running:
    """A server and what it serves; `close` ends both."""

    def __init__(self, program: str = PROGRAM, limits: Limits = Limits(), **options: Any) -> None:
        self.pipeline = deltic.Pipeline()
        self.pipeline.sql(program)
        self.service = Service(self.pipeline, limits)
        self.server = PostgresServer(self.service, Address("127.0.0.1", 0), **options)
        self.port = self.server.address.port

    @property
    def address(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=ada dbname=deltic"

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.address, **{"autocommit": True} | options)

    def close(self) -> None:
        self.server.stop()
        self.service.close()
        self.pipeline.close()


@pytest.fixture
def running() -> Iterator[Running]:
    server = Running()
    yield server
    server.close()


@pytest.fixture(scope="module")
def lasting() -> Iterator[Running]:
    """A server for all tests of a file."""
    server = Running()
    yield server
    server.close()


@pytest.fixture
def connection(running: Running) -> Iterator[psycopg.Connection[Any]]:
    with running.connect() as connection:
        yield connection
