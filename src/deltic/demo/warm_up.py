"""Having the engine's loops compiled before anything is measured: the first use on a machine compiles them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deltic.demo.extract import facts_of
from deltic.demo.facts import SourceFile
from deltic.demo.replay import Replay
from deltic.demo.spark_facts import fact_batch
from deltic.demo.tree import Edit, Tree
from deltic.pipeline.options import Transactions
from deltic.pipeline.session import Pipeline

_WIDE_ROWS = """
.decl edge(x: number, y: number, label: number)
.decl path(x: number, y: number, label: number)
.decl loop(x: number, label: number)
.decl open(x: number, y: number, label: number)
.input edge
path(x, y, l) :- edge(x, y, l).
path(x, z, l) :- path(x, y, l), edge(y, z, l).
loop(x, l) :- path(x, x, l).
open(x, y, l) :- path(x, y, l), !loop(x, l).
"""
"""With large numbers its rows do not fit a machine word, for which the engine has other loops."""
_APART = 1 << 40
_MANY = 600_000
"""Two batches of so many rows are merged by several threads."""


def warm_up() -> None:
    """Runs three programs through some epochs: the demonstration's own, one with wide rows, and one with many."""
    source = SourceFile("a.py", "a", b"def f(): return g()\ndef g(): return f()\nf()")
    tree = Tree({source.file: source.text})
    replay = Replay(None, tree, pa.Table.from_batches([fact_batch(source.module, facts_of(source))]))
    replay.start()
    for number in range(1, 5):
        replay.apply(number, Edit("f comes and goes", {source.file: source.text if number % 2 else b""}))
    pipeline = Pipeline()
    pipeline.datalog(_WIDE_ROWS)
    edges = [(n * _APART, (n + 1) % 8 * _APART, -_APART) for n in range(8)]
    for removed in (None, 3, 5):
        with pipeline.transaction() as change:
            if removed is None:
                change.insert("edge", edges)
            else:
                change.delete("edge", edges[removed : removed + 1])
    with pipeline.transaction() as change:
        change.insert("edge", edges[3:4] + edges[5:6])
    pipeline = Pipeline(transactions=Transactions(conflicts="trust"))
    pipeline.datalog(".decl number(n: number)\n.input number\n.decl other(n: number)\nother(n) :- number(n).")
    for first in (0, _MANY):
        with pipeline.transaction() as change:
            change.insert("number", pa.table({"n": np.arange(first, first + _MANY)}))
