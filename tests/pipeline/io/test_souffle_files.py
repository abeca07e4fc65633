"""Files as Soufflé's programs have them, against what its readers and writers are described to do. Catches a field
that is cut at a comma between brackets or at the end of a line, a structure that JSON changes, a field that is lost.
"""

from __future__ import annotations

import csv
import io
import json
import random
from itertools import pairwise

import pytest

from deltic.errors import DataError
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.records import starts, whole_rows
from deltic.pipeline.io.stretch import parse
from deltic.pipeline.io.text import parse_line
from deltic.values.types import Schema, Type
from tests.pipeline.io.test_devices import execute

TYPES = """
.type List = [head: number, tail: List]
.type Named = [name: symbol, list: List, weight: float]
.type Shape = Point {} | Circle {radius: float, at: Named} | Pair {one: Shape, other: Shape}
"""
LISTS = ["nil", "[1, nil]", "[-2, [3, nil]]"]
NAMED = ["[a b, nil, 1.5]", '["q\\"[,", [7, nil], -0.25]', '["", [-2, [3, nil]], 3.0]', "nil"]
SHAPES = ["$Point", "$Circle(2.5, [x, [1, nil], 0.5])", "$Pair($Point, $Pair($Point, $Circle(1.0, nil)))"]
COPY = ".decl r(l: List, n: Named, s: Shape)\n.decl v(l: List, n: Named, s: Shape)\nv(l, n, s) :- r(l, n, s).\n"
FACTS = "".join(
    f"r({lst}, {named}, {shape}).\n"
    for lst in LISTS
    for named in ('["a b", nil, 1.5]', '["q\\"[,", [7, nil], -0.25]', '["", [-2, [3, nil]], 3.0]', "nil")
    for shape in (
        "$Point()",
        '$Circle(2.5, ["x", [1, nil], 0.5])',
        "$Pair($Point(), $Pair($Point(), $Circle(1.0, nil)))",
    )
)


@pytest.mark.parametrize("form", ["list", "object"])
def test_structures_in_json(form, tmp_path):
    execute(tmp_path, TYPES + COPY + FACTS + f'.output v(IO=jsonfile, filename="r.json", format={form})')
    (tmp_path / "out" / "r.json").rename(tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    named = {"name": "a b", "list": None, "weight": 1.5} if form == "object" else ["a b", None, 1.5]
    inner = {"head": 3, "tail": None} if form == "object" else [3, None]
    outer = {"head": -2, "tail": inner} if form == "object" else [-2, inner]
    row = [outer, named, ["$Pair", "$Point", ["$Pair", "$Point", ["$Circle", 1.0, None]]]]
    assert (dict(zip("lns", row, strict=True)) if form == "object" else row) in found
    _, pipeline = execute(tmp_path, TYPES + COPY + ".input r(IO=jsonfile)\n.printsize v")
    wanted = {(lst, named, shape) for lst in LISTS for named in NAMED for shape in SHAPES}
    assert {tuple(row) for row in pipeline["v"]} == wanted


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[1]", "expected 2 fields of a List, found"),
        ("[1, [2, 3]]", "expected a value of type List, found 3"),
        ("[1.5, null]", "expected a value of type number, found 1.5"),
        ("[9223372036854775808, null]", "expected a value of type number, found 9223372036854775808"),
        ('{"head": 1}', "expected a value of type List"),
        ("true", "expected a value of type List, found"),
    ],
)
def test_what_is_no_structure_in_json(value, message, tmp_path):
    (tmp_path / "r.json").write_text(f"[[{value}]]")
    with pytest.raises(DataError, match=f"row 1, column l: {message}"):
        execute(tmp_path, TYPES + ".decl r(l: List)\n.input r(IO=jsonfile)")


@pytest.mark.parametrize("copies", [1, 60])
def test_brackets_hold_a_field_together_where_the_delimiter_has_a_comma(copies, tmp_path):
    (tmp_path / "r.facts").write_text("[1, [2, nil]],a[x,y],1\nnil,plain,2\n[3,nil],open[,3\n" * copies)
    text = TYPES + '.decl r(l: List, s: symbol, n: number)\n.input r(delimiter=",")\n.printsize r'
    _, pipeline = execute(tmp_path, text)
    rows = {("[1, [2, nil]]", "a[x,y]", 1), ("nil", "plain", 2), ("[3, nil]", "open[", 3)}
    assert {(row[0].replace("3,nil", "3, nil"), *row[1:]) for row in pipeline["r"]} == rows


@pytest.mark.parametrize("copies", [1, 60])
def test_what_a_line_has_behind_the_columns_of_an_input_is_left_out(copies, tmp_path):
    (tmp_path / "r.facts").write_text("1\ta\tmore\tand more\n2\tb\tmore\tand more\n" * copies + "3\tc\n4\td\tx\n")
    _, pipeline = execute(tmp_path, ".decl r(n: number, s: symbol)\n.input r\n.printsize r")
    assert sorted(pipeline["r"]) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    with pytest.raises(DataError, match="expected 2 fields, found 4"):
        execute(tmp_path, ".decl r(n: number, s: symbol)\n.printsize r")


PAIR = FileLayout(Schema.of(s=Type.STRING, n=Type.INT64), delimiter=",", rfc4180=True)
PIECES = ["a", '"', ",", "\n", "\r\n", "", " ", "é", '""']


def written(rows):
    """Rows as Python's writer of CSV has them, every symbol in quotes."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("seed", range(12))
def test_quoted_fields_extend_over_lines(seed):
    rng = random.Random(seed)
    pieces = PIECES if seed % 3 else [piece for piece in PIECES if "\r" not in piece]
    rows = [("".join(rng.choices(pieces, k=rng.randrange(6))), number) for number in range(rng.choice([3, 300]))]
    data = written(rows)
    lines = data.splitlines(keepends=True)
    size = rng.choice([1, 3, len(lines)])
    blocks = [b"".join(lines[start : start + size]) for start in range(0, len(lines), size)]
    read = [batch for block in whole_rows(blocks, PAIR) for batch in parse(block, 1, PAIR, "f")]
    assert [tuple(row.values()) for batch in read for row in batch.table.to_pylist()] == rows
    assert not [finding for batch in read for finding in batch.rejects]
    assert sum(batch.lines for batch in read) == data.count(b"\n")


def test_a_quote_that_is_never_closed_is_one_malformed_line():
    data = b'"a\nb",1\n"open,2\nx,3\ny,4\n'
    blocks = list(whole_rows([data], PAIR))
    batches = [batch for block in blocks for batch in parse(block, 1, PAIR, "f")]
    assert [tuple(row.values()) for batch in batches for row in batch.table.to_pylist()] == [
        ("a\nb", 1),
        ("x", 3),
        ("y", 4),
    ]
    assert blocks[0] == b'"a\nb",1\n'
    assert [(finding.line, finding.message) for finding in batches[1].rejects] == [(1, "this quote is never closed")]


@pytest.mark.parametrize("seed", range(6))
def test_rows_begin_where_their_quotes_are_closed(seed):
    rng = random.Random(seed)
    for _ in range(200):
        data = ("".join(rng.choices(['"', ",", "\n", "1", "a"], k=rng.randrange(1, 12))) + "\n").encode()
        places = [*starts(data, PAIR), len(data)]
        for begin, end in pairwise(places):
            if b"\n" in data[begin : end - 1]:
                assert "never closed" not in reason(data[begin : end - 1].decode()), data


def reason(line):
    """Why a row is malformed, "" where it is none."""
    try:
        parse_line(line, PAIR)
    except Malformed as error:
        return error.reason
    return ""


def test_symbols_of_structures_stand_in_quotes_where_fields_may(tmp_path):
    text = TYPES + ".decl v(n: Named, s: symbol)\n"
    text += 'v(["a, b", nil, 1.5], "x\ty"). v(["c", [1, nil], 0.1], "say \\"hi\\"\\nthere").\n'
    execute(tmp_path, text + '.output v(rfc4180=true)\n.output v(filename="plain.txt", delimiter="|")')
    found = list(csv.reader((tmp_path / "out" / "v.csv").open(encoding="utf-8", newline="")))
    assert sorted(found) == [
        ['["a, b", nil, 1.5]', "x\ty"],
        ['["c", [1, nil], 0.10000000000000001]', 'say "hi"\nthere'],
    ]
    assert "[a, b, nil, 1.5]|x\ty\n" in (tmp_path / "out" / "plain.txt").read_text()
    (tmp_path / "w.facts").write_bytes((tmp_path / "out" / "v.csv").read_bytes())
    _, pipeline = execute(tmp_path, TYPES + ".decl w(n: Named, s: symbol)\n.input w(rfc4180=true)\n.printsize w")
    assert {row[1] for row in pipeline["w"]} == {"x\ty", 'say "hi"\nthere'}


def test_what_a_relation_and_its_columns_are_called_outside(tmp_path):
    (tmp_path / "outside.facts").write_text("1\n")
    text = (
        '.decl r(x: number)\n.input r(name="outside")\n.output r(name="other", headers=true, attributeNames="number")\n'
    )
    execute(tmp_path, text)
    assert (tmp_path / "out" / "other.csv").read_text() == "number\n1\n"
