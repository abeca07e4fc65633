"""Records and algebraic data types against Python's tuples. Catches: values that are taken apart wrongly, fields that
bind or compare the wrong way, texts that are read as others than were written, shapes that match others.
"""

import itertools
import random
import subprocess
import sys

import pytest
from pyspark import cloudpickle

import deltic
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.errors import EvaluationError
from deltic.functions.function import FUNCTIONS
from deltic.program.compiling import program_of
from tests.datalog.naive import changed, epochs_agree, rows_of, seeds

TYPES = """
.type List = [n: number, r: List]
.type Shape = Circle {radius: number} | Point {} | Pair {a: Shape, b: symbol}
.decl e(x: number, y: symbol)
.decl given(l: List, s: Shape)
.decl l(l: List)
.decl s(s: Shape)
.decl p(x: number, l: List)
.decl q(x: number, y: symbol)
.input e, given
"""
SYMBOLS = ["a", "b c", "", 'x"y', "u, v", " w", "[", "nil", "$Point", "\\n"]


def product(db, *relations):
    return itertools.product(*(db[r] for r in relations))


def tails(value):
    while value is not None:
        value = value[1]
        yield value


def length(value):
    return 0 if value is None else 1 + sum(1 for _ in tails(value)) - 1


# A rule, the relation that it derives, and what that is of what is there: lists are None and pairs, shapes tuples.
RULES = [
    ("l(l) :- given(l, _).", "l", lambda db: {(v,) for v, _ in db["given"]}),
    ("s(s) :- given(_, s).", "s", lambda db: {(v,) for _, v in db["given"]}),
    ("l(r) :- l([_, r]).", "l", lambda db: {(v[1],) for (v,) in db["l"] if v is not None}),
    ("l([x, nil]) :- e(x, _).", "l", lambda db: {((x, None),) for x, _ in db["e"]}),
    (
        "l([x, t]) :- e(x, _), l(t), t = [y, _], y < x.",
        "l",
        lambda db: {((x, t),) for (x, _), (t,) in product(db, "e", "l") if t is not None and t[0] < x},
    ),
    ("s($Circle(x)) :- e(x, _).", "s", lambda db: {(("Circle", x),) for x, _ in db["e"]}),
    (
        "s($Pair($Circle(x), y)) :- e(x, y), s($Point).",
        "s",
        lambda db: {(("Pair", ("Circle", x), y),) for x, y in db["e"] if (("Point",),) in db["s"]},
    ),
    ("s(t) :- s($Pair(t, _)).", "s", lambda db: {(v[1],) for (v,) in db["s"] if v[0] == "Pair"}),
    (
        "q(x, y) :- s($Pair($Circle(x), y)).",
        "q",
        lambda db: {(v[1][1], v[2]) for (v,) in db["s"] if v[0] == "Pair" and v[1][0] == "Circle"},
    ),
    (
        "q(x, y) :- e(x, y), given([x, _], $Pair(_, y)).",
        "q",
        lambda db: {
            (x, y)
            for (x, y), (v, t) in product(db, "e", "given")
            if v is not None and v[0] == x and t[0] == "Pair" and t[2] == y
        },
    ),
    (
        "p(x, t) :- l(v), v = [x, t].",
        "p",
        lambda db: {(v[0], v[1]) for (v,) in db["l"] if v is not None},
    ),
    ("p(x, v) :- p(x, [_, v]).", "p", lambda db: {(x, v[1]) for x, v in db["p"] if v is not None}),
    (
        "p(x, [x, v]) :- e(x, _), p(x, v), v = nil.",
        "p",
        lambda db: {(x, (x, v)) for (x, _), (z, v) in product(db, "e", "p") if z == x and v is None},
    ),
    (
        "q(c, y) :- e(_, y), c = count : { l([_, _]) }.",
        "q",
        lambda db: {(sum(v is not None for (v,) in db["l"]), y) for _, y in db["e"]},
    ),
    (
        'q(x, "none") :- e(x, _), !l([x, nil]).',
        "q",
        lambda db: {(x, "none") for x, _ in db["e"] if ((x, None),) not in db["l"]},
    ),
]


def text(value):
    """A list, a shape, a number or a symbol as files have it."""
    if value is None:
        return "nil"
    if isinstance(value, tuple) and isinstance(value[0], str):
        fields = ", ".join([field(value[1]), *map(symbol, value[2:])] if len(value) > 1 else [])
        return f"${value[0]}({fields})" if fields else f"${value[0]}"
    return f"[{value[0]}, {text(value[1])}]" if isinstance(value, tuple) else value


def field(value):
    return text(value) if isinstance(value, tuple) else str(value)


def symbol(value):
    special = not value or value != value.strip() or any(c in '[](),"\\' for c in value) or value.startswith("$")
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if special else value


def lists(rng):
    return None if rng.random() < 0.4 else (rng.randint(0, 2), lists(rng))


def shapes(rng):
    kind = rng.choice(["Circle", "Point", "Pair"])
    if kind == "Pair":
        return ("Pair", shapes(rng), rng.choice(SYMBOLS))
    return ("Circle", rng.randint(0, 2)) if kind == "Circle" else ("Point",)


def draw(rng, table):
    if table == "e":
        return rng.randint(0, 2), rng.choice(SYMBOLS)
    return lists(rng), shapes(rng)


@pytest.mark.parametrize("seed", seeds(50, 400))
def test_random_programs(seed):
    rng = random.Random(seed)
    chosen = [rule for rule in RULES if rng.random() < 0.6]
    if "!l" in "".join(r for r, _, _ in chosen):
        chosen = [rule for rule in chosen if "l([x, t])" not in rule[0]]
    epochs_agree(TYPES, chosen, ("e", "given"), lambda table: draw(rng, table), text, rng)


def test_canonical_texts():
    read = FUNCTIONS["structure"].python
    family = "L=[number L]|nil"
    assert read(family, " [ 1 ,[ 2,nil ] ] ") == "[1, [2, nil]]"
    assert [read(family, t) for t in ("[1]", "[1, nil", "[1, nil]]", '[1, nil]"', "[x, nil]", "", "nil nil")] == [
        None
    ] * 7
    shape = "S=$P(float symbol)|$Q"
    assert read(shape, '$P(-0.0, "a")') == "$P(0.0, a)"
    assert [read(shape, t) for t in ("$Q", "$Q()", "$R")] == ["$Q", None, None]
    deep = "[1, " * 5000 + "nil" + "]" * 5000
    assert read(family, deep.replace(", ", ",")) == deep


def test_records_between_variables_need_no_type():
    rules = """
        .decl r(x: number, y: symbol)
        r(x, w) :- e(x, y), e(v, w), a = [x, [y, _]], b = a, b = [v, [c, d]], c = w.
        r(n, y) :- e(n, y), a = [x, y], a = [2, z], [x, z] = [n, y].
    """
    pipeline = deltic.Pipeline()
    pipeline.datalog(".decl e(x: number, y: symbol)\n.input e" + rules)
    changed(pipeline, "e", [(1, "a"), (2, "b"), (2, "c")])
    assert rows_of(pipeline["r"]) == {(1, "a"), (2, "b"), (2, "c")}


def test_a_text_that_is_none_rejects_the_epoch():
    pipeline = deltic.Pipeline()
    pipeline.datalog(TYPES + "l(l) :- given(l, _).")
    with pytest.raises(EvaluationError, match="value of the type List"), pipeline.transaction() as change:
        change.insert("given", [("[1, 2]", "$Point")])
    assert rows_of(pipeline["given"]) == set()


def test_spellings_of_one_value_are_one_value():
    pipeline = deltic.Pipeline()
    pipeline.datalog(TYPES + "l(l) :- given(l, _).")
    with pipeline.transaction() as change:
        change.insert("given", [("[1,nil]", "$Point"), ("[1, nil]", "$Point")])
    assert rows_of(pipeline["l"]) == {("[1, nil]",)}


def test_a_state_and_shards_have_structures(tmp_path):
    rules = "l(l) :- given(l, _). l(r) :- l([_, r]). s(s) :- given(_, s). s(t) :- s($Pair(t, _))."
    rows = [("[1, [2, nil]]", '$Pair($Circle(3), "a, b")'), ("[7, [2, nil]]", "$Point")]
    lists = {("[1, [2, nil]]",), ("[7, [2, nil]]",), ("[2, nil]",), ("nil",)}
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.datalog(TYPES + rules)
        changed(pipeline, "given", rows)
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        assert rows_of(pipeline["l"]) == lists
        changed(pipeline, "given", gone=rows[:1])
        assert rows_of(pipeline["l"]) == lists - {("[1, [2, nil]]",)}
        assert rows_of(pipeline["s"]) == {("$Point",)}
        assert pipeline.sql("SELECT count(*) AS n FROM l WHERE l LIKE '[%'").to_arrow().to_pylist() == [{"n": 2}]


def test_shards_have_structures():
    rules = "l(l) :- given(l, _). l(r) :- l([_, r]). p(x, t) :- l([x, t]), e(x, _)."
    with deltic.Pipeline(engine="spark", shards=2) as pipeline:
        pipeline.datalog(TYPES + rules)
        changed(pipeline, "given", [(f"[{n}, [{n + 1}, nil]]", "$Point") for n in range(5)])
        changed(pipeline, "e", [(n, "x") for n in range(9)])
        changed(pipeline, "given", gone=[("[0, [1, nil]]", "$Point")])
        assert len(rows_of(pipeline["l"])) == 4 + 4 + 1
        assert rows_of(pipeline["p"]) >= {(1, "[2, nil]"), (5, "nil")}


def test_a_plan_finds_its_functions_in_another_process(tmp_path):
    pipeline = deltic.Pipeline()
    pipeline.datalog(
        f'{TYPES} q(x, to_string(y)) :- e(x, a), match("a.*", a), y = to_number(a). l([x, nil]) :- e(x, _).'
    )
    packed = tmp_path / "plan"
    packed.write_bytes(cloudpickle.dumps(lay_out(program_of(pipeline.catalog.circuit))))
    program = """if True:
        import pickle, sys
        from deltic.engine.executors.shards.plan import ShardPlan
        from deltic.functions import FUNCTIONS
        before = "pack" in FUNCTIONS
        with open(sys.argv[1], "rb") as file:
            assert isinstance(pickle.load(file), ShardPlan)
        print(before, FUNCTIONS["pack"].python("[i.]", 1, "nil"), FUNCTIONS["match"].python("a.*", "ab"))
    """
    told = subprocess.run([sys.executable, "-c", program, packed], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["False", "[1,", "nil]", "True"]


def test_explain_writes_structures_as_users_do():
    pipeline = deltic.Pipeline()
    pipeline.datalog(
        f"{TYPES} l([n, r]) :- l(x), x = [n, r], r = [2, _].\ns(a) :- s($Pair(a, _)).\n s($Pair($Point, y)) :- e(_, y)."
    )
    told = pipeline.explain("l") + pipeline.explain("s")
    for wanted in ("[field 1 of ", "field 1 of field 2 of ", "$Pair(", "field 1 of $Pair "):
        assert wanted in told
    assert "SPARK_" not in told
    assert "CHECKED" not in told
