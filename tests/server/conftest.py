"""A server on a free port of this machine, and clients of it."""

from __future__ import annotations

import httpx
import pytest

import deltic
from deltic.server.http.app import AccessRules, HttpApplication
from deltic.server.http.server import HttpServer
from deltic.server.limits import Limits
from deltic.server.listening import Address
from deltic.server.service import Service

PROGRAM = """
    CREATE TABLE orders (id INT PRIMARY KEY, who STRING, price DECIMAL(10, 2));
    CREATE TABLE visits (who STRING, day DATE);
    CREATE VIEW takings AS SELECT who, count(*) AS n, sum(price) AS total FROM orders GROUP BY who;
"""
LOOPBACK = Address("127.0.0.1", 0)


class Served:
    """A pipeline with a server; `client()` talks to it."""

    def __init__(self, program=PROGRAM, limits=None, access=None, state=None, frozen=""):
        self.pipeline = deltic.Pipeline(state=state)
        if program:
            self.pipeline.sql(program)
        self.service = Service(self.pipeline, limits or Limits(), frozen)
        self.application = HttpApplication(self.service, access or AccessRules(), "shop.sql")
        self.server = HttpServer(self.application, LOOPBACK, self.service.limits)
        self._clients = []

    def client(self, token="", **headers):
        if token:
            headers["Authorization"] = f"Bearer {token}"
        made = httpx.Client(base_url=self.server.url, headers=headers, timeout=60, trust_env=False)
        self._clients.append(made)
        return made

    def rows(self, name):
        return sorted(map(tuple, self.pipeline[name].rows()), key=repr)

    def close(self):
        for client in self._clients:
            client.close()
        self.service.drain()
        self.server.stop()
        self.service.close()
        self.pipeline.close()


@pytest.fixture
def serve():
    """Makes servers, which end with the test."""
    made = []

    def new(*args, **kwargs):
        made.append(Served(*args, **kwargs))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.fixture
def served(serve):
    return serve()


@pytest.fixture
def client(served):
    return served.client()
