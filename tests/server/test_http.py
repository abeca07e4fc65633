"""The service by HTTP, asked by httpx over a real connection.

Catches rows that a form of bodies or answers loses, a change that is acknowledged and not there, errors without a
status or a remedy, and endpoints that OpenAPI does not have.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import threading
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from deltic.server.http.bodies import ARROW, CSV, JSON, JSON_LINES
from deltic.server.limits import Limits

ROWS = [(1, "ada", Decimal("2.50")), (2, 'b,"o"b', Decimal("4.00")), (3, None, None)]


def arrow(rows):
    table = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int32()),
            "who": pa.array([row[1] for row in rows], pa.string()),
            "price": pa.array([row[2] for row in rows], pa.decimal128(10, 2)),
        }
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def objects(rows, **more):
    return [{**more, "id": row[0], "who": row[1], "price": None if row[2] is None else float(row[2])} for row in rows]


def json_lines(rows, **more):
    return "\n".join(map(json.dumps, objects(rows, **more))).encode()


BODIES = {
    JSON: lambda rows: json.dumps(objects(rows)).encode(),
    JSON_LINES: json_lines,
    ARROW: arrow,
}


def post(client, body, media_type=JSON_LINES, table="orders", **params):
    return client.post(f"/tables/{table}/changes", content=body, headers={"Content-Type": media_type}, params=params)


@pytest.mark.parametrize("media_type", BODIES)
def test_each_form_of_a_body_has_the_same_rows(served, client, media_type):
    answer = post(client, BODIES[media_type](ROWS), media_type, op="insert")
    assert answer.status_code == 200, answer.text
    assert answer.json()["affected"] == [3]
    assert served.rows("orders") == sorted(ROWS)
    assert post(client, BODIES[media_type](ROWS[:2]), media_type, op="delete").status_code == 200
    assert served.rows("orders") == ROWS[2:]


def test_csv_names_its_columns(served, client):
    body = 'price,id,who\n2.5,1,"b,""o""b"\n'
    assert post(client, body, CSV, op="insert").status_code == 200
    assert served.rows("orders") == [(1, 'b,"o"b', Decimal("2.50"))]
    assert post(client, 'op,id,who,price\n-,1,"b,""o""b",2.5\n+,7,x,1\n', CSV).status_code == 200
    assert served.rows("orders") == [(7, "x", Decimal("1.00"))]
    assert post(client, "id\n7\n", CSV, op="delete").status_code == 200
    assert served.rows("orders") == []


@pytest.mark.parametrize(
    ("media_type", "whole", "part"),
    [
        (JSON_LINES, b'{"id": 1, "who": "a", "price": null}', b'\n{"id": 2}\n'),
        (JSON, b'[{"id": 1, "who": "a", "price": null}]', b'[{"id": 2}]'),
        (CSV, b"id,who,price\n1,a,\n", b"id\n2\n"),
    ],
)
def test_an_inserted_row_may_leave_out_columns(serve, media_type, whole, part):
    served = serve("CREATE TABLE orders (id INT, who STRING DEFAULT 'none', price DECIMAL(10, 2));")
    client = served.client()
    for body in (whole, part):
        assert post(client, body, media_type, op="insert").status_code == 200
    assert served.rows("orders") == [(1, "a", None), (2, "none", None)]
    answer = post(client, part, media_type, op="delete")
    assert (answer.status_code, "column who" in answer.text) == (400, True), answer.text


@pytest.mark.parametrize(
    ("body", "media_type", "op", "words"),
    [
        (b'\n{"id": 1, "whom": "a"}', JSON_LINES, "insert", "body.jsonl:2:11: there is no column whom"),
        (b'\n{"op": "+", "id": 1, "whom": "a"}', JSON_LINES, "", "body.jsonl:2:22: there is no column whom"),
        (b'{"op": "u", "id": 1, "whom": "a"}', JSON_LINES, "", "there is no column whom"),
        (b'\n{"id": 1, "whom": "a"}', JSON_LINES, "upsert", "body.jsonl:2:11: there is no column whom"),
        (b'{"id": 1, "who": "a"}\n{"id": 2, "whom": "a"}', JSON_LINES, "update", "row 2: there is no column whom"),
        (b'{"id": 1, "whom": "a"}', JSON_LINES, "delete", "row 1: there is no column whom"),
        (b'[{"id": 1}, {"id": 2, "whom": "a"}]', JSON, "insert", "row 2: there is no column whom"),
        (b'\n{"id": 1', JSON_LINES, "delete", "line 2 of the body is not JSON"),
        (b'{"op": "u", "id": 1, "who": "a"}', JSON_LINES, "", "column price is missing"),
        (b'{"id": 1, "who": "a"}', JSON_LINES, "upsert", "column price is missing"),
        (b"id;who\n1;ada\n", CSV, "insert", "separate the fields of a body by commas"),
        (b"op,id\n+,1\n", CSV, "", "no field has the name of the column who"),
    ],
)
def test_another_column_is_refused_with_its_place(served, client, body, media_type, op, words):
    answer = post(client, body, media_type, op=op)
    assert (answer.status_code, words in answer.json()["error"]["message"]) == (400, True), answer.text
    assert served.rows("orders") == []


def test_rows_say_what_they_do(served, client):
    post(client, json_lines(ROWS, op="+"))
    post(client, b'{"op": "u", "id": 1, "who": "ada", "price": 9}\n{"op": "d", "id": 2}\n')
    assert served.rows("orders") == [(1, "ada", Decimal("9.00")), (3, None, None)]
    answer = post(client, json_lines(ROWS))
    assert answer.status_code == 400
    assert "neither an insertion nor a deletion" in answer.text


def test_updates_have_some_columns(served, client):
    post(client, json_lines(ROWS), op="insert")
    assert post(client, b'[{"id": 3, "who": "cyd"}]', JSON, op="update").json()["affected"] == [1]
    assert (3, "cyd", None) in served.rows("orders")


def test_the_answer_counts_rows_that_came_too_late(served, client):
    client.post("/query", json={"text": "CREATE TABLE hits (page STRING, day DATE LATENESS INTERVAL 1 DAY)"})
    first = post(client, b'{"page": "a", "day": "2026-01-09"}', table="hits", op="insert").json()
    assert "late" not in first
    answer = post(client, b'{"page": "b", "day": "2026-01-02"}', table="hits", op="insert").json()
    assert answer["late"] == {"hits": 1}
    assert answer["message"] == (
        "1 row changed or left out: the epoch left out 1 late row of hits, with day before 2026-01-08"
    )
    assert len(served.rows("hits")) == 1


def test_dates_are_texts(served, client):
    for media_type, body in ((JSON, b'[{"who": "a", "day": "2026-02-28"}]'), (CSV, b"who,day\na,2026-02-28\n")):
        assert post(client, body, media_type, "visits", op="insert").status_code == 200
    assert served.rows("visits") == [("a", datetime.date(2026, 2, 28))] * 2


def test_several_tables_are_one_epoch(served, client):
    before = served.pipeline.epoch
    fields = {"orders": objects(ROWS, op="+"), "visits": [{"op": "+", "who": "a", "day": "2026-01-01"}]}
    answer = client.post("/changes", json=fields)
    assert answer.status_code == 200, answer.text
    assert answer.json()["epoch"] == before + 1
    fields = {"orders": [{"op": "d", "id": 1}], "visits": [{"op": "-", "who": "nobody", "day": None}]}
    assert client.post("/changes", json=fields).status_code == 409
    assert len(served.rows("orders")) == 3


def test_each_form_of_an_answer_has_the_same_rows(served, client):
    post(client, json_lines(ROWS), op="insert")
    told = client.get("/views/orders")
    assert sorted(map(tuple, told.json()["rows"])) == [(1, "ada", "2.50"), (2, 'b,"o"b', "4.00"), (3, None, None)]
    assert told.json()["columns"][2] == {"name": "price", "type": "decimal(10, 2)"}
    assert int(told.headers["Deltic-Epoch"]) == served.pipeline.epoch
    lines = client.get("/views/orders", headers={"Accept": JSON_LINES}).text.splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == [1, 2, 3]
    read = list(csv.reader(io.StringIO(client.get("/views/orders?format=csv").text)))
    assert read[0] == ["id", "who", "price"]
    assert ["2", 'b,"o"b', "4.00"] in read
    table = pa.ipc.open_stream(client.get("/views/orders?format=arrow").content).read_all()
    assert sorted(map(tuple, (row.values() for row in table.to_pylist()))) == sorted(ROWS)


def test_numbers_that_json_has_not_are_texts(client):
    text = (
        "SELECT 9007199254740993 AS big, CAST('NaN' AS DOUBLE) AS n, 0.10 AS d, DATE'2026-01-02' AS day, X'00ff' AS b"
    )
    (row,) = client.post("/query", json={"text": text}).json()["rows"]
    assert row == ["9007199254740993", "NaN", "0.10", "2026-01-02", "AP8="]


def test_questions_have_arguments_and_a_limit(client):
    post(client, json_lines(ROWS), op="insert")
    asked = {"text": "SELECT id FROM orders WHERE price > ? ORDER BY id", "args": [1]}
    assert client.post("/query", json=asked).json()["rows"] == [[1], [2]]
    told = client.post("/query", json={**asked, "limit": 1}).json()
    assert (told["rows"], told["truncated"]) == ([[1]], True)
    asked = {"text": "SELECT id FROM orders WHERE who = :who", "args": {"who": "ada' OR 1 = 1"}}
    assert client.post("/query", json=asked).json()["rows"] == []
    told = client.get("/views/orders", params={"limit": 2})
    assert (len(told.json()["rows"]), told.headers["Deltic-Truncated"]) == (2, "true")


def test_statements_change_and_define(served, client):
    told = client.post("/query", json={"text": "INSERT INTO orders VALUES (?, ?, ?)", "args": [1, "ada", 2]}).json()
    assert (told["message"], told["affected"]) == ("1 row changed", [1])
    assert (
        client.post("/query", json={"text": "CREATE VIEW big AS SELECT * FROM orders WHERE price > 1"}).status_code
        == 200
    )
    assert client.get("/views/big").json()["rows"] == [[1, "ada", "2.00"]]
    assert "big" in {each["name"] for each in client.get("/catalog").json()["relations"]}


@pytest.mark.parametrize("text", ["", " ; -- nothing", "CREATE TABLE IF NOT EXISTS orders (id INT)"])
def test_statements_with_nothing_to_do(served, client, text):
    assert client.post("/query", json={"text": text}).json()["epoch"] == served.pipeline.epoch


def test_definitions_of_a_program_stay(serve):
    served = serve(frozen="the definitions are those of shop.sql")
    answer = served.client().post("/query", json={"text": "DROP VIEW takings"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, "the definitions are those of shop.sql")


def test_a_key_is_applied_once(served, client):
    body, headers = b'{"who": "a", "day": null}', {"Content-Type": JSON_LINES, "Idempotency-Key": "k1"}
    parts = [client.post("/tables/visits/changes?op=insert", content=body, headers=headers).json() for _ in range(3)]
    assert [each["applied_before"] for each in parts] == [False, True, True]
    assert len({each["epoch"] for each in parts}) == 1
    assert len(served.rows("visits")) == 1
    answer = client.post("/tables/visits/changes?op=delete", content=body, headers=headers)
    assert answer.status_code == 409
    assert "another change" in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/nothing", 404, "/openapi.json"),
        ("DELETE", "/catalog", 405, "GET /catalog"),
        ("POST", "/tables/orders", 405, "POST /tables/{name}/changes"),
        ("GET", "/views/taking", 404, "did you mean `takings`"),
        ("GET", "/views/takings/plan?x=1", 400, "no parameter 'x'; it has none"),
        ("GET", "/views/takings/why?who=ada", 400, "no parameter 'who'; it has row, not, depth, budget"),
        ("GET", "/views/takings/changes?last-event-id=1", 400, "it has since, snapshot"),
        ("POST", "/query?limit=1", 400, "no parameter 'limit'; it has format"),
        ("GET", "/healthz?x=", 400, "no parameter 'x'"),
        ("GET", "/views/orders/plan", 400, "it is a table"),
        ("POST", "/tables/takings/changes", 404, "is a view"),
        ("GET", "/views/takings?limit=-1", 400, "limit is '-1'"),
        ("GET", "/views/takings?limit=ten", 400, "limit is 'ten'"),
        ("GET", "/views/takings?format=xml", 406, "json, jsonl, csv, arrow"),
        ("GET", "/views/takings/why?row=[", 400, "row is not JSON"),
        ("GET", '/views/takings/why?row={"x":1}', 400, "no column"),
        ("GET", '/views/takings/why?row={"who":"zed"}', 400, "no row"),
        ("GET", "/views/takings/changes?since=999", 410, "there is no epoch 999 yet"),
        ("GET", "/status?since=-1", 400, "since"),
    ],
)
def test_what_is_wrong_is_said(client, method, path, status, words):
    answer = client.request(method, path)
    assert answer.status_code == status, answer.text
    assert words in answer.text


@pytest.mark.parametrize(
    ("body", "media_type", "status", "words"),
    [
        (b'{"id": 1', JSON_LINES, 400, "body.jsonl:1"),
        (b'{"id": "x", "who": "a", "price": 1}', JSON_LINES, 400, "column id"),
        (b"id,whom\n1,a\n", CSV, 400, "did you mean"),
        (b"rubbish", ARROW, 400, "Arrow"),
        (b"{}", JSON, 400, "array of objects"),
        (b"<x/>", "text/xml", 415, "Content-Type"),
        (b'{"id": 1, "who": "a", "price": 123456789012}', JSON_LINES, 400, "price"),
    ],
)
def test_what_is_wrong_with_a_body_is_said(served, client, body, media_type, status, words):
    before = served.pipeline.epoch
    answer = post(client, body, media_type, op="insert")
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert served.pipeline.epoch == before
    assert client.get("/status").json()["errors"][0]["message"] == answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([], "object of JSON"),
        ({"text": 1}, "object of JSON"),
        ({"text": "SELECT 1", "limit": "x"}, "limit is 'x'"),
        ({"text": "SELECT 1", "args": "x"}, "args are"),
        ({"text": "SELECT 1", "arg": []}, "no 'arg'"),
        ({"text": "SELEC 1"}, "did you mean `SELECT`"),
        ({"text": "SELECT ?", "args": []}, "?"),
        ({"text": "BEGIN"}, "no transaction is begun"),
    ],
)
def test_what_is_wrong_with_a_statement_is_said(client, asked, words):
    answer = client.post("/query", json=asked)
    assert answer.status_code == 400, answer.text
    assert words in answer.text


def test_a_body_may_be_too_large(serve):
    served = serve(limits=Limits(body=1000))
    client = served.client()
    assert post(client, b"x" * 2000, op="insert").status_code == 413

    def parts():
        for _ in range(20):
            yield b"x" * 100

    assert client.post("/query", content=parts()).status_code == 413
    assert client.get("/readyz").status_code == 200


def test_too_many_rows_and_too_much_time(serve):
    served = serve(limits=Limits(rows=2, seconds=0.3))
    client = served.client()
    served.pipeline.execute("INSERT INTO visits SELECT CAST(id AS STRING), NULL FROM range(500)")
    answer = client.get("/views/visits")
    assert answer.status_code == 400
    assert "500 rows" in answer.text
    assert len(client.get("/views/visits?limit=2").json()["rows"]) == 2
    text = "SELECT count(*) AS n FROM visits a, visits b, visits c WHERE a.who || b.who > c.who"
    answer = client.post("/query", json={"text": text})
    assert answer.status_code == 504, answer.text
    assert "0.3 s" in answer.text


def test_why_a_row_is_there(client):
    post(client, json_lines(ROWS), op="insert")
    told = client.get("/views/takings/why", params={"row": '{"who": "ada"}'}).json()
    assert [(step["relation"], step["row"]) for step in told["steps"]] == [
        ("takings", ["ada", 1, "2.50"]),
        ("orders", [1, "ada", "2.50"]),
    ]
    by_all = client.get("/views/takings/why", params={"row": '["ada", 1, "2.50"]'})
    assert by_all.json()["steps"] == told["steps"]
    told = client.get("/views/takings/why", params={"row": '{"who": "zed"}', "not": "true"}).json()
    assert "no row of orders" in told["ways"][0]["fails"]


def test_concurrent_writers_are_all_there(served):
    answers = []

    def write(number):
        client = served.client()
        answers.extend(post(client, json_lines([(number * 20 + n, "w", 1)]), op="insert") for n in range(20))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {200}
    assert sorted(row[0] for row in served.rows("orders")) == list(range(200))
    assert len({answer.json()["epoch"] for answer in answers}) < 200


def test_status_says_what_each_relation_costs(client):
    post(client, json_lines(ROWS), op="insert")
    told = client.get("/status").json()
    relations = {each["name"]: each for each in told["relations"]}
    assert (relations["orders"]["rows"], relations["orders"]["changed"]) == (3, 3)
    assert (relations["takings"]["rows"], relations["takings"]["kind"]) == (3, "view")
    last = told["epochs"][-1]
    assert (last["changed"], last["writers"], last["tables"]) == ({"takings": [3, 0]}, 1, {"orders": 3})
    assert told["memory"]["state"] > 0
    assert client.get("/status", params={"since": last["epoch"]}).json()["epochs"] == []
    post(client, b'{"id": 1}', op="delete")
    told = client.get("/status", params={"since": last["epoch"]}).json()
    assert [each["epoch"] for each in told["epochs"]] == [last["epoch"] + 1]
    assert {each["name"]: each["rows"] for each in told["relations"]}["takings"] == 2


def test_metrics_are_prometheus(client):
    post(client, json_lines(ROWS), op="insert")
    post(client, b"rubbish", op="insert")
    families = {each.name: each for each in text_string_to_metric_families(client.get("/metrics").text)}
    assert {
        "deltic_epoch",
        "deltic_state_bytes",
        "deltic_subscriptions",
        "process_resident_memory_bytes",
    } <= families.keys()
    requests = {
        (sample.labels["path"], sample.labels["status"]): sample.value
        for sample in families["deltic_http_requests"].samples
        if sample.name.endswith("_total")
    }
    assert requests == {("/tables/{name}/changes", "200"): 1, ("/tables/{name}/changes", "400"): 1}


def test_openapi_has_every_endpoint(served, client):
    told = client.get("/openapi.json").json()
    routes = {(route.path, method) for route in served.application.endpoints for method in [route.method.lower()]}
    assert {(path, method) for path, methods in told["paths"].items() for method in methods} == routes
    operations = [operation for methods in told["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)


def test_it_is_ready_until_it_stops(served, client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").status_code == 200
    served.service.drain()
    assert client.get("/readyz").status_code == 503
    answer = post(client, json_lines(ROWS), op="insert")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert client.get("/views/orders").status_code == 200


def test_the_page_lists_every_endpoint(served):
    """The table of docs/server.md, made of the endpoints."""
    page = Path(__file__).parents[2].joinpath("docs", "server.md").read_text(encoding="utf-8")
    for each in served.application.endpoints:
        path, role = each.path.replace("{name}", "NAME"), each.role.name.lower() if each.role else "none"
        assert f"\n| `{each.method} {path}` | {each.about} | {role} |\n" in page
