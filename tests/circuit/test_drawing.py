"""DOT and Mermaid: what is drawn, that it is the same each time, and that no text breaks out of its label."""

from __future__ import annotations

import random
import re

import pytest

from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.drawing import to_dot, to_mermaid
from deltic.circuit.expressions import literal
from deltic.circuit.graph import CircuitBuilder
from deltic.values.types import Column, Schema, Type
from tests.circuit.examples import X, arithmetic, naive_closure, unreachable
from tests.circuit.well_formed import random_well_formed
from tests.differential.circuits import random_circuit

PRINTERS = {"dot": to_dot, "mmd": to_mermaid}


def both_forms(circuit):
    return {"circuit": circuit, "incremental circuit": incrementalize(circuit)}


@pytest.mark.parametrize("suffix", PRINTERS)
@pytest.mark.parametrize("example", [unreachable, arithmetic], ids=lambda f: f.__name__)
def test_drawing(example, suffix, golden):
    golden(f"circuit/{example.__name__}.{suffix}", PRINTERS[suffix](both_forms(example())))


@pytest.mark.parametrize("printer", PRINTERS.values())
def test_equal_circuits_have_one_drawing_with_balanced_frames(printer):
    for seed in range(30):
        one, other = (printer(both_forms(random_circuit(random.Random(seed)))) for _ in range(2))
        assert one == other
        opened = len(re.findall(r"^ *subgraph ", one, re.MULTILINE))
        closed = len(re.findall(r"^ +(?:\}|end)$", one, re.MULTILINE))
        assert opened == closed >= 2


@pytest.mark.parametrize("printer", PRINTERS.values())
def test_every_arrow_joins_boxes_that_are_drawn(printer):
    for seed in range(30):
        rng = random.Random(seed)
        text = printer({**both_forms(random_circuit(rng)), "with cycles": random_well_formed(rng, nesting=2)})
        boxes = re.findall(r'^ *(c\w+) ?\[(?:label=)?"', text, re.MULTILINE)
        ends = re.findall(r"^ *(c\w+) -.*?(c\w+)(?: \[.*\])?;?$", text, re.MULTILINE)
        assert len(set(boxes)) == len(boxes)
        assert {end for arrow in ends for end in arrow} <= set(boxes)
        assert ends


@pytest.mark.parametrize(("printer", "arrow"), [(to_dot, '[style=dashed, label="z⁻¹"]'), (to_mermaid, '-.->|"z⁻¹"|')])
def test_back_edges_are_dashed(printer, arrow):
    assert printer({"closure": naive_closure()}).count(arrow) == 1


def test_labels_are_escaped():
    builder = CircuitBuilder()
    text = builder.add(ops.Map((Column("t", Type.STRING),), (literal('"<b>\\#', Type.STRING),)),
                       builder.add(ops.Source("s", X)))  # fmt: skip
    builder.add(ops.Sink("v"), text)
    drawn = {"": builder.build()}
    assert """c0_1 [label="map ['\\"<b>\\\\#' AS t]\\nzset{t: string}"];""" in to_dot(drawn)
    assert """c0_1["map ['#34;#60;b#62;#92;#35;' AS t]<br/>zset{t: string}"]""" in to_mermaid(drawn)


def test_the_nullary_relation_is_drawn():
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(ops.Source("s", Schema(()))))
    assert to_dot({"it": builder.build()}) == "\n".join([
        "digraph deltic {",
        "  node [shape=box, fontname=monospace];",
        "  subgraph cluster_c0 {",
        '    label="it";',
        '    c0_0 [label="source s\\nset{}"];',
        '    c0_1 [label="sink v\\nset{}"];',
        "    c0_0 -> c0_1;",
        "  }",
        "}",
    ])  # fmt: skip
