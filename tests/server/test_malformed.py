"""Requests that are wrong, at random: catches one that fails inside, changes something, or ends the server.

Some are bytes that are hardly HTTP, others well-formed requests with parameters, headers and bodies that are not.
"""

from __future__ import annotations

import json
import random
import socket
import string

import httpx
import pytest

from deltic.server.http.bodies import FORMS
from tests.batches import slow

_PATHS = (
    "/tables/orders/changes",
    "/tables/visits/changes",
    "/tables/takings/changes",
    "/tables/nope/changes",
    "/changes",
    "/query",
    "/catalog",
    "/views/takings",
    "/views/orders",
    "/views/takings/plan",
    "/views/takings/why",
    "/status",
    "/metrics",
    "/openapi.json",
    "/healthz",
    "/console/x",
    "/",
    "/%00",
    "/views/%ff",
)
_VALUES = (None, True, 0, -1, 2**70, 1.5, "", "x", "\0", "é😀", [], [[]], {}, {"a": {}}, "2026-99-99", "NaN")
_TEXTS = (
    "SELECT * FROM takings",
    "SELECT who FROM orders WHERE id = ?",
    "INSERT INTO orders VALUES (1, 'a')",
    "DELETE FROM nope",
    "SELECT ((((",
    "CREATE TABLE t (a INT) USING csv OPTIONS (path '/etc/passwd')",
    "SHOW TABLES; BEGIN",
    "EXPLAIN WHY SELECT 1",
    "SELECT 1/0 AS a",
    ";",
)


def value(rng, depth=2):
    if depth and rng.random() < 0.5:
        if rng.random() < 0.5:
            return [value(rng, depth - 1) for _ in range(rng.randrange(3))]
        names = ("id", "who", "price", "day", "op", "text", "args", "limit", "orders", "visits", "\0", "__weight__")
        return {rng.choice(names): value(rng, depth - 1) for _ in range(rng.randrange(4))}
    return rng.choice(_VALUES)


def body(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(rng.randrange(60))
    if kind == 1:
        return json.dumps({"text": rng.choice(_TEXTS), "args": value(rng), "limit": rng.choice([None, 1, value(rng)])})
    if kind == 2:
        return "\n".join(json.dumps(value(rng)) for _ in range(rng.randrange(4)))
    if kind == 3:
        return "id,who,price\n" + "".join(rng.choices(string.printable, k=30))
    return json.dumps(value(rng, 4))


def request(rng):
    """A well-formed request with anything in it, that can be right by chance alone."""
    name = rng.choice(["op", "since", "limit", "format", "row", "not", "depth", "budget", "x"])
    params = {name: str(value(rng, 0))} if rng.random() < 0.4 else {}
    headers = {
        "Content-Type": rng.choice([*FORMS, "", "text/html", "application/json; charset=latin-1"]),
        "Accept": rng.choice(["*/*", "text/csv", "image/png", ""]),
        "Last-Event-ID": rng.choice(["", "x", "-1", "99999999999999999999"]),
        "Idempotency-Key": rng.choice(["", "k", "k" * 300]),
    }
    method = rng.choice(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
    return method, rng.choice(_PATHS), params, headers, body(rng)


def rejected_or_right(answer):
    return answer.status_code < 500 or answer.status_code == 503


@pytest.mark.parametrize("count", [100, *slow([10_000])])
def test_requests_that_are_wrong(served, client, count):
    rng = random.Random(count)
    for _ in range(count):
        method, path, params, headers, content = request(rng)
        answer = client.request(method, path, params=params, headers=headers, content=content)
        assert rejected_or_right(answer), (method, path, params, headers, content, answer.text)
        if answer.status_code >= 400 and method != "HEAD":
            assert answer.json()["error"]["message"]
    assert client.get("/readyz").status_code == 200
    assert served.pipeline["takings"].columns == ["who", "n", "total"]


@pytest.mark.parametrize("count", [100, *slow([2000])])
def test_bytes_that_are_hardly_http(served, count):
    rng = random.Random(count)
    address = served.server.address
    before = served.pipeline.epoch
    for _ in range(count):
        with socket.create_connection((address.host, address.port), timeout=30) as connection:
            connection.sendall(hardly_http(rng))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
    assert served.client().get("/readyz").status_code == 200
    assert served.pipeline.epoch == before


def hardly_http(rng):
    whole = (
        b"POST /tables/nope/changes?op=insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        b"Content-Length: 20\r\n\r\nid,who,price\n1,a,2\n\n"
    )
    data = bytearray(whole)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(data))
        if rng.random() < 0.3:
            del data[place : place + rng.randrange(20)]
        elif rng.random() < 0.5:
            data[place:place] = rng.randbytes(rng.randrange(8))
        else:
            data[place] = rng.randrange(256)
        if not data:
            return b"\r\n"
    return bytes(data)


def test_a_client_that_goes_in_the_middle(served):
    """What it has sent of a body is not applied."""
    address = served.server.address
    head = "POST /tables/visits/changes?op=insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
    for _ in range(20):
        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(f"{head}Content-Length: 100\r\n\r\nwho,day\na,2026-01-01\n".encode())
    with httpx.Client(base_url=served.server.url, trust_env=False) as client:
        assert client.get("/views/visits").json()["rows"] == []
