"""Plans of the local engine: when they are made, what they save, and that a failed epoch leaves the old one.

What these tests catch: an epoch that plans anew and fails, or is aborted, and leaves an engine with the relations of
another program; a plan that is made for tables of a few rows; one that flips back and forth; hidden relations that
`explain` does not name.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltic.calculus.planning import Rewrites
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.plan.plans import Plans
from deltic.engine.storage.state import State
from deltic.errors import ChangeError

EXISTENTIAL = """
.decl i(x: number)
.decl n(x: number)
.decl o(x: number)
.input i
.input n
.output o
o(x) :- i(x), n(a), n(b)."""
TWO_HOPS = """
.decl e(x: number, y: number)
.decl o(x: number)
.input e
.output o
o(x) :- e(x, y), e(y, z)."""


def engine(text, **switches):
    return IncrementalEngine(lower(check([parse(text)])), plans=Plans(Rewrites(**switches)))


def numbers(count, weight=1):
    return pa.table({"x": pa.array(range(count), pa.int64()), WEIGHT: pa.array([weight] * count, pa.int64())})


def star(leaves):
    """Arcs from node 0 to so many others, and back."""
    out = [(0, i + 1) for i in range(leaves)] + [(i + 1, 0) for i in range(leaves)]
    x, y = zip(*out, strict=True)
    return pa.table({"x": x, "y": y, WEIGHT: [1] * len(out)})


def test_conditions_that_have_nothing_to_do_with_the_head_are_tests():
    local = engine(EXISTENTIAL)
    result = local.apply({"i": numbers(200), "n": numbers(200)})
    assert [d.rewrite for d in result.decisions] == ["eliminate"]
    assert local.count("o") == 200
    assert result.rows_visited < 2_000
    whole = engine(EXISTENTIAL, eliminate=False)
    whole.apply({"i": numbers(200), "n": numbers(200)})
    one_less = {"n": numbers(1, -1)}
    assert local.apply(one_less).rows_visited < 10 < 200 <= whole.apply(one_less).rows_visited
    assert local.apply({"n": numbers(200, -1).slice(1)}).changes["o"].num_rows == 200


def test_a_hub_counts_with_all_of_its_pairs():
    local = engine(TWO_HOPS)
    result = local.apply({"e": star(1000)})
    assert local.count("o") == 1001
    assert result.rows_visited < 20_000
    assert "o-y'(y) :- e(y, y')" in local.explain("o")


THREE_HOPS = """
.decl e(x: number, y: number)
.decl mark(x: number)
.decl o(x: number, w: number)
.input e
.input mark
.output o
o(x, w) :- mark(x), e(x, y), e(y, z), e(z, w), mark(w)."""


def test_both_ends_of_paths_restrict_them():
    ring = pa.table(
        {"x": [n // 10 for n in range(20_000)], "y": [7 * n % 2000 for n in range(20_000)], WEIGHT: [1] * 20_000}
    )
    local, whole = engine(THREE_HOPS), engine(THREE_HOPS, eliminate=False)
    result, before = (each.apply({"e": ring, "mark": numbers(100)}) for each in (local, whole))
    assert [d.text for d in result.decisions] == ["o-e-mark(z, w) :- e(z, w), mark(w)"]
    assert local.read("o").equals(whole.read("o"))
    assert 3 * result.rows_visited < before.rows_visited


@pytest.mark.parametrize("rule", ["o(x, y) :- mark(x), e(x, y).", "o(x, y) :- e(x, y), mark(x)."])
def test_a_first_epoch_starts_from_few_rows(rule):
    local = engine(THREE_HOPS.replace(THREE_HOPS.splitlines()[-1], rule))
    arcs = pa.table({"x": range(10_000), "y": range(10_000), WEIGHT: [1] * 10_000})
    assert local.apply({"mark": numbers(10), "e": arcs}).rows_visited < 100
    assert local.count("o") == 10


def test_small_tables_are_not_planned():
    result = engine(EXISTENTIAL).apply({"i": numbers(50), "n": numbers(50)})
    assert result.decisions is None


def test_tables_that_grow_are_planned_anew_and_views_keep_their_rows():
    local = engine(EXISTENTIAL)
    local.apply({"i": numbers(20), "n": numbers(20)})
    result = local.apply({"i": numbers(300)}, conflicts="normalize")
    assert result.changes["o"].num_rows == 280
    assert result.decisions
    assert local.apply({"n": numbers(1, -1)}).decisions is None
    assert local.count("o") == 300


OWNERS = """
.decl e(x: number, y: number)
.decl owner(x: number, w: number)
.decl reaches(x: number, y: number)
.decl o(x: number, w: number)
.input e
.input owner
.output o
reaches(x, y) :- e(x, y).
reaches(x, z) :- reaches(x, y), e(y, z).
o(x, w) :- reaches(x, y), reaches(y, z), owner(z, w)."""


def chain(nodes):
    rows = {"x": range(nodes), "y": range(1, nodes + 1), WEIGHT: [1] * nodes}
    owned = {"x": range(0, nodes, 5), "w": [n % 3 for n in range(0, nodes, 5)], WEIGHT: [1] * len(range(0, nodes, 5))}
    return {"e": pa.table(rows), "owner": pa.table(owned)}


def owners(**plans):
    return IncrementalEngine(lower(check([parse(OWNERS)])), plans=Plans(**plans))


def test_a_plan_is_reviewed_once_recursions_have_rows():
    whole, local = owners(review=1 << 40), owners(review=100_000)
    before, result = whole.apply(chain(400)), local.apply(chain(400))
    assert local.read("o").equals(whole.read("o"))
    assert [d.relation for d in result.decisions] == ["o-z"]
    assert "o-z(y, w) :- reaches(y, z), owner(z, w); expected: the work of" in local.explain("o")
    assert before.decisions is None
    assert result.rows_visited < before.rows_visited / 2
    one = {"e": pa.table({"x": [200], "y": [201], WEIGHT: [-1]})}
    visited = local.apply(one).rows_visited, whole.apply(one).rows_visited
    assert local.read("o").equals(whole.read("o"))
    assert visited[0] < visited[1] / 5


def test_what_was_decided_in_a_review_stays_when_definitions_change():
    local = owners(review=100_000)
    local.apply(chain(400))
    more = OWNERS + "\n.decl p(x: number)\n.output p\np(x) :- owner(x, _)."
    local.extend(lower(check([parse(more)])))
    assert "o" not in local.extension.built
    assert "o-z" in local.explain("o")
    assert local.apply({"owner": pa.table({"x": [3], "w": [7], WEIGHT: [1]})}).changes["o"].num_rows == 2


def test_an_epoch_that_fails_after_a_review_leaves_the_old_plan():
    local = owners(review=100_000)
    local.apply({name: rows.slice(0, 10) for name, rows in chain(400).items()})
    before = local.program, local.explain("o"), local.read("o", counted=True)
    with local.prepare(chain(400), "normalize") as epoch:
        assert epoch.result.decisions
    assert local.read("o", counted=True) == before[2]
    with pytest.raises(ChangeError):
        local.apply(chain(400))
    assert local.read("o", counted=True) == before[2]
    assert local.apply(chain(400), "normalize").rows_visited


class Failure(Exception):
    pass


def test_an_epoch_that_is_aborted_leaves_all_rows_as_they_were():
    local = engine(EXISTENTIAL)
    local.apply({"i": numbers(20), "n": numbers(20)})
    before = local.read("o", counted=True)
    with local.prepare({"i": numbers(300)}, "normalize"):
        assert local.count("o") == 300
    assert local.read("o", counted=True) == before
    assert local.apply({"i": numbers(300)}, "normalize").changes["o"].num_rows == 280


def test_an_epoch_that_fails_leaves_the_old_plan(monkeypatch):
    local = engine(EXISTENTIAL)
    local.apply({"i": numbers(20), "n": numbers(20)})
    before = local.program, local.explain("o")
    with pytest.raises(ChangeError):
        local.apply({"i": numbers(300)})
    assert (local.program, local.explain("o")) == before

    append, calls = State.append, []

    def failing(state, run):
        append(state, run)
        calls.append(state)
        if len(calls) == 3:
            raise Failure

    monkeypatch.setattr(State, "append", failing)
    with pytest.raises(Failure):
        local.apply({"i": numbers(300)}, "normalize")
    monkeypatch.undo()
    assert (local.program, local.explain("o")) == before
    assert local.count("o") == 20
    assert local.apply({"i": numbers(300)}, "normalize").changes["o"].num_rows == 280
