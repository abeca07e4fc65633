"""The circuits of good programs, as text. Catches: plans that change unseen; what lowering must give in any case.

Each `good/NAME.dl` is lowered; its circuit is `tests/golden/datalog/circuits/NAME.txt`.
"""

from pathlib import Path

import pytest

from deltic.circuit.operators import Sink, Source
from deltic.datalog import check, lower, parse

GOOD = sorted((Path(__file__).parent / "good").glob("*.dl"))


def _checked(path):
    return check([parse(path.read_text(encoding="utf-8"), path.name)])


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_circuit(path, golden):
    golden(f"datalog/circuits/{path.stem}.txt", str(lower(_checked(path))))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_lowering_is_deterministic(path):
    assert str(lower(_checked(path))) == str(lower(_checked(path)))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_sources_are_tables_and_sinks_are_derived_sets(path):
    checked = _checked(path)
    circuit = lower(checked)
    sources = {o.name: o.schema for o in circuit.operators if isinstance(o, Source)}
    assert sources == {r.name: r.schema for r in checked.relations.values() if r.is_table}
    sinks = [o.name for o in circuit.operators if isinstance(o, Sink)]
    assert sinks == [r.name for r in checked.relations.values() if r.is_derived]
    assert all(circuit.type_of(circuit.sinks[name]).is_set for name in sinks)


def test_a_chain_of_many_relations():
    """Strata are found and lowered without recursion."""
    count = 1500
    text = "".join(f".decl r{i}(x: number)\n" for i in range(count))
    text += "".join(f"r{i}(x) :- r{i + 1}(x).\n" for i in range(count - 1))
    circuit = lower(check([parse(text)]))
    assert len(circuit.sinks) == count - 1


def test_a_cycle_of_many_relations():
    count = 1200
    text = "".join(f".decl r{i}(x: number)\n" for i in range(count))
    text += "".join(f"r{i}(x) :- r{(i + 1) % count}(x).\n" for i in range(count)) + "r0(1).\n"
    checked = check([parse(text)])
    assert len(checked.strata) == 1
    assert len(lower(checked).sinks) == count
