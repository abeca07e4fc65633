"""Reading and parsing source files in parallel: one Spark job from paths to facts.

Facts travel as one table, whatever their relation: columns `module`, `relation`, and `c0` to `c3` as text.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.demo.extract import Fact, SourceFile, facts_of
from deltic.demo.tree import Tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = ("c0", "c1", "c2", "c3")
FACTS = pa.schema([pa.field(name, pa.string()) for name in ("module", "relation", *VALUES)])
_FACTS_DDL = ", ".join(f"{name} string" for name in FACTS.names)
_FILES = pa.schema([("file", pa.string()), ("module", pa.string()), ("path", pa.string()), ("text", pa.binary())])
_MOST_TASKS, _FILES_PER_TASK = 16, 32


def parse_tree(spark: SparkSession, tree: Tree) -> pa.Table:
    """Return the facts of all files of a tree. A file on disk is read by the task that parses it."""
    files = [_described(tree.contents(path), path, module) for path, module in tree.modules.items()]
    if not files:
        return FACTS.empty_table()
    frame = spark.createDataFrame(pa.Table.from_pylist(files, _FILES))
    tasks = min(_MOST_TASKS, 1 + len(files) // _FILES_PER_TASK)
    return frame.repartition(tasks).mapInArrow(_parse, _FACTS_DDL).toArrow()


def _described(contents: bytes | Path, file: str, module: str) -> dict[str, object]:
    on_disk = isinstance(contents, Path)
    text, path = (None, str(contents)) if on_disk else (contents, None)
    return {"file": file, "module": module, "path": path, "text": text}


def _parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what a task does: batches of files in, one batch of facts for each file out."""
    with _no_cycle_search():
        for batch in batches:
            for row in batch.to_pylist():
                text = row["text"] if row["path"] is None else Path(row["path"]).read_bytes()
                source = SourceFile(row["file"], row["module"], text)
                yield fact_batch(source.module, facts_of(source))


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Syntax trees are many objects without cycles; looking for some takes Python a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def fact_batch(module: str, facts: Iterable[Fact]) -> pa.RecordBatch:
    """Return the facts of one module in the travelling form."""
    rows = [
        (module, relation, *(str(value) for value in row), *(None,) * (len(VALUES) - len(row)))
        for relation, row in facts
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(FACTS)
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=FACTS)
