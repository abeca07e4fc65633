"""Subscriptions by server-sent events.

Catches an epoch that a subscriber does not get, or gets twice, also when it comes again after a break, and one that is
cut off without being told from where it could not go on.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import contextmanager

import httpx
import pytest

from deltic.server.limits import Limits


@contextmanager
def following(client, path, **headers):
    """The events of a stream, as (id, kind, data)."""
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        yield events(answer.iter_lines())


def events(lines):
    fields = {}
    for line in lines:
        if line.startswith(":"):
            continue
        name, _, value = line.partition(": ")
        if name:
            fields[name] = value
        elif fields:
            yield fields.get("id"), fields["event"], json.loads(fields["data"])
            fields = {}


def order(served, number, who="ada"):
    served.service.execute("INSERT INTO orders VALUES (?, ?, 1)", [number, who])


def applied(rows, data):
    """The rows of a view after a change, each with how often it is there."""
    rows = Counter(rows)
    for row, weight in zip(data["rows"], data["weights"], strict=True):
        rows[tuple(row)] += weight
    return +rows


def test_changes_add_up_to_the_view(served, client):
    order(served, 1)
    with following(client, "/views/takings/changes?snapshot=true") as told:
        number, kind, data = next(told)
        assert (int(number), kind) == (served.pipeline.epoch, "rows")
        rows = applied({}, data)
        for other in range(2, 6):
            order(served, other, who="ada" if other % 2 else "bob")
            number, kind, data = next(told)
            assert (int(number), kind, data["epoch"]) == (served.pipeline.epoch, "change", served.pipeline.epoch)
            rows = applied(rows, data)
            assert rows == Counter(tuple(row) for row in client.get("/views/takings").json()["rows"])


def test_a_client_that_comes_again_goes_on(served, client):
    order(served, 1)
    with following(client, "/views/takings/changes?since=0") as told:
        last, *_ = next(told)
    order(served, 2)
    order(served, 3)
    with following(client, "/views/takings/changes?since=0&snapshot=true", **{"Last-Event-ID": last}) as told:
        assert [int(next(told)[0]) for _ in range(2)] == [served.pipeline.epoch - 1, served.pipeline.epoch]


def test_who_is_cut_off_gets_its_position(served, client):
    with following(client, "/views/takings/changes") as told:
        position = served.pipeline.epoch
        served.service.execute("DROP VIEW takings")
        _, kind, data = next(told)
        assert (kind, data["position"]) == ("error", position)
        assert next(told, None) is None
    assert client.get("/status").json()["errors"][0]["kind"] == "subscription"


def test_what_is_not_retained_is_gone(served, client):
    for number in range(1005):
        order(served, number)
    answer = client.get("/views/takings/changes?since=1")
    assert answer.status_code == 410
    assert "no longer retained" in answer.text


def test_subscriptions_are_limited(serve):
    served = serve(limits=Limits(subscriptions=1))
    client = served.client()
    with following(client, "/views/takings/changes"):
        answer = served.client().get("/views/takings/changes")
        assert (answer.status_code, "as may be, 1: end one, or" in answer.text) == (503, True)
        assert client.get("/status").json()["subscriptions"][0]["view"] == "takings"
    for _ in range(100):
        if not served.service.following():
            break
        order(served, len(served.pipeline["orders"]))
    assert served.client().get("/views/takings/changes?since=99999").status_code == 410


async def follow(url, count, begun):
    got = []
    async with (
        httpx.AsyncClient(timeout=120, trust_env=False) as client,
        client.stream("GET", f"{url}/views/takings/changes?since=0") as answer,
    ):
        begun.release()
        async for line in answer.aiter_lines():
            got += [int(line[4:])] if line.startswith("id: ") else []
            if len(got) == count:
                break
    return got


@pytest.mark.parametrize("subscribers", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_subscribers_get_every_epoch(served, subscribers):
    """Each gets the same epochs, in order, as a subscriber in the process does."""

    async def run():
        begun = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(follow(served.server.url, 5, begun)) for _ in range(subscribers)]
        for _ in range(subscribers):
            await begun.acquire()
        for number in range(5):
            await asyncio.to_thread(order, served, number)
        return await asyncio.gather(*tasks)

    told = asyncio.run(run())
    expected = [change.epoch for change in served.pipeline.changes("takings", since=0)]
    assert all(got == expected for got in told)
