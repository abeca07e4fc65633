"""The rules by which D is pushed to I, each as a text pair before and after with both sides run.

Catches a rule that is applied where it does not hold, and one that leaves the integration of what it should not keep.
"""

from __future__ import annotations

import random

import pytest

from deltic.calculus.push import push
from deltic.circuit.reading import parse_circuit
from tests.circuit.meanings import by_interpreter
from tests.differential.circuits import random_epochs

AB, BD, DA = "{a: int64, b: int64}", "{b: int64, d: int64}", "{d: int64, a: int64}"
ABD = "{a: int64, b: int64, d: int64}"
RULES = {
    "Prop 4.2 inversion": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = differentiate (%1) : zset{AB}
        %3 = sink v (%2) : zset{AB}""",
    "Prop 4.2 invariance": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = delay (%1) : zset{AB}
        %3 = negate (%2) : zset{AB}
        %4 = plus (%3, %1) : zset{AB}
        %5 = differentiate (%4) : zset{AB}
        %6 = sink v (%5) : zset{AB}""",
    "Prop 4.2 push": f"""
        %0 = source s : zset{AB}
        %1 = distinct (%0) : set{AB}
        %2 = differentiate (%1) : zset{AB}
        %3 = sink v (%2) : zset{AB}""",
    "Prop 4.2 chain": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = distinct (%1) : set{AB}
        %3 = map [a] (%2) : zset{{a: int64}}
        %4 = distinct (%3) : set{{a: int64}}
        %5 = differentiate (%4) : zset{{a: int64}}
        %6 = sink v (%5) : zset{{a: int64}}""",
    "Prop 4.2 add": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = distinct (%1) : set{AB}
        %3 = filter [a < b] (%1) : zset{AB}
        %4 = plus (%2, %3) : zset{AB}
        %5 = differentiate (%4) : zset{AB}
        %6 = sink v (%5) : zset{AB}""",
    "Prop 4.2 cycle": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = back_edge r : set{AB}
        %3 = plus (%1, %2) : zset{AB}
        %4 = distinct (%3) : set{AB}
        %5 = close r (%4) : set{AB}
        %6 = differentiate (%4) : zset{AB}
        %7 = sink v (%6) : zset{AB}""",
    "Thm 4.4 linear": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = map [b AS a, a AS b] (%1) : zset{AB}
        %3 = filter [a < 2] (%2) : zset{AB}
        %4 = differentiate (%3) : zset{AB}
        %5 = sink v (%4) : zset{AB}""",
    "Thm 4.5 bilinear": f"""
        %0 = source s : zset{AB}
        %1 = source t : zset{BD}
        %2 = integrate (%0) : zset{AB}
        %3 = integrate (%1) : zset{BD}
        %4 = join (%2, %3) : zset{ABD}
        %5 = differentiate (%4) : zset{ABD}
        %6 = sink v (%5) : zset{ABD}""",
    "Thm 4.5 three inputs": f"""
        %0 = source s : zset{AB}
        %1 = source t : zset{BD}
        %2 = source u : zset{DA}
        %3 = integrate (%0) : zset{AB}
        %4 = integrate (%1) : zset{BD}
        %5 = integrate (%2) : zset{DA}
        %6 = join (%3, %4, %5) : zset{ABD}
        %7 = differentiate (%6) : zset{ABD}
        %8 = sink v (%7) : zset{ABD}""",
    "Prop 6.12": f"""
        %0 = source s : zset{AB}
        %1 = integrate (%0) : zset{AB}
        %2 = distinct (%1) : set{AB}
        %3 = differentiate (%2) : zset{AB}
        %4 = sink v (%3) : zset{AB}""",
}


@pytest.mark.law("DBSP Prop 4.2", "DBSP Thm 4.4", "DBSP Thm 4.5", "DBSP Prop 6.12", "DBSP Lemma 4.3")
@pytest.mark.parametrize("name", RULES)
def test_pairs(name, golden):
    before = parse_circuit(RULES[name])
    after = push(before)
    assert after != before
    file = name.lower().replace(" ", "-")
    golden(f"calculus/rules/{file}.txt", f"before:\n{before}\n\nafter:\n{after}")
    for seed in range(8):
        epochs = random_epochs(random.Random(seed), before, 5, signed=True)
        expected = by_interpreter(before, epochs)
        assert by_interpreter(after, epochs) == expected, f"seed {seed}"


@pytest.mark.parametrize("name", RULES)
def test_nothing_is_left_to_push(name):
    after = push(parse_circuit(RULES[name]))
    assert push(after) == after
