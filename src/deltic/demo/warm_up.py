"""Having the engine's kernels compiled and loaded before anything is measured."""

from __future__ import annotations

import pyarrow as pa

from deltic.demo.extract import facts_of
from deltic.demo.facts import SourceFile
from deltic.demo.replay import Replay
from deltic.demo.spark_facts import fact_batch
from deltic.demo.tree import Edit, Tree


def warm_up() -> None:
    """Run the demonstration's program through some epochs: the first on a machine compiles all kernels."""
    source = SourceFile("a.py", "a", b"def f(): return g()\ndef g(): return f()\nf()")
    tree = Tree({source.file: source.text})
    replay = Replay(None, tree, pa.Table.from_batches([fact_batch(source.module, facts_of(source))]))
    replay.start()
    for number in range(1, 5):
        replay.apply(number, Edit("f comes and goes", {source.file: source.text if number % 2 else b""}))
