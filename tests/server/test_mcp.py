"""The tools of agents, called by the official client: in this process, and over a pipe of `deltic mcp`.

Catches a tool that writes without leave, and an answer that is not what the pipeline has.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import deltic

PROGRAM = """
CREATE TABLE orders (id INT PRIMARY KEY, who STRING, price DECIMAL(10, 2));
CREATE VIEW takings AS SELECT who, count(*) AS n, sum(price) AS total FROM orders GROUP BY who;
"""


@pytest.fixture
def state(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state", program=PROGRAM) as pipeline:
        pipeline.execute("INSERT INTO orders VALUES (1, 'ada', 2.5), (2, 'bob', 4)")
    return tmp_path / "state"


def calls(args, *asked):
    """The results of calls of tools, each as (is an error, text), and the names of the tools."""

    async def run():
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "deltic", "mcp", *map(str, args)], env=dict(os.environ)
        )
        async with stdio_client(command) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            results = [await session.call_tool(name, arguments) for name, arguments in asked]
            return tools, [(bool(result.is_error), result.content[0].text) for result in results]

    return asyncio.run(asyncio.wait_for(run(), 120))


def test_agents_read(state):
    tools, results = calls(
        ["--state", state],
        ("relations", {}),
        ("query", {"sql": "SELECT who, total FROM takings WHERE n > ? ORDER BY who", "args": [0]}),
        ("why", {"relation": "takings", "row": {"who": "ada"}}),
        ("why_not", {"relation": "takings", "row": {"who": "zed"}}),
        ("plan", {"view": "takings"}),
        ("query", {"sql": "SELEC 1"}),
        ("query", {"sql": "DELETE FROM orders"}),
        ("query", {"sql": "DROP VIEW takings"}),
        ("change", {"sql": "DELETE FROM orders"}),
    )
    assert tools == ["relations", "query", "changes", "why", "why_not", "plan"]
    relations, query, why, why_not, plan, *wrong = results
    assert {each["name"]: each["rows"] for each in json.loads(relations[1])["relations"]} == {"orders": 2, "takings": 2}
    assert json.loads(query[1])["rows"] == [["ada", "2.50"], ["bob", "4.00"]]
    assert 'orders(1, "ada", 2.50)' in json.loads(why[1])["text"]
    assert "no row of orders" in json.loads(why_not[1])["text"]
    assert "takings" in plan[1]
    assert all(is_error for is_error, _ in wrong)
    assert "did you mean `SELECT`" in wrong[0][1]
    assert "query takes SELECT, SHOW, DESCRIBE and EXPLAIN; deltic mcp --write has a tool for INSERT" in wrong[1][1]


def test_agents_change_where_they_may(state):
    insert = {"sql": "INSERT INTO orders VALUES (?, ?, 1)", "args": [3, "ada"], "key": "k"}
    with deltic.Pipeline(state=state) as pipeline:
        before = pipeline.epoch
    tools, results = calls(
        ["--state", state, "--write"],
        ("change", insert),
        ("change", insert),
        ("changes", {"view": "takings", "since": before}),
        ("change", {"sql": "DROP VIEW takings"}),
    )
    assert "change" in tools
    assert [json.loads(text)["affected"] for _, text in results[:2]] == [[1], []]
    (change,) = json.loads(results[2][1])["changes"]
    assert sorted(zip(change["rows"], change["weights"], strict=True)) == [
        (["ada", 1, "2.50"], -1),
        (["ada", 2, "3.50"], 1),
    ]
    assert results[3][0]
    with deltic.Pipeline(state=state) as pipeline:
        assert len(pipeline["orders"]) == 3
