"""Reading and parsing source files in parallel: one Spark job from paths to facts.

Facts travel as one table, whatever their relation: columns `module`, `relation`, and `c0` to `c3` as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.demo.extract import facts_of
from deltic.demo.facts import Fact, SourceFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUES = ("c0", "c1", "c2", "c3")
FACTS = pa.schema([pa.field(name, pa.string()) for name in ("module", "relation", *VALUES)])
_FACTS_DDL = ", ".join(f"{name} string" for name in FACTS.names)
_TASKS = 16


def parse_files(spark: SparkSession, root: Path, modules: Mapping[str, str]) -> DataFrame:
    """The facts of the files below `root`, given as path and module name; each task reads what it parses."""
    rows = [{"path": str(root / file), "file": file, "module": modules[file]} for file in sorted(modules)]
    return _parse(spark, pa.Table.from_pylist(rows, pa.schema([(n, pa.string()) for n in ("path", "file", "module")])))


def parse_texts(spark: SparkSession, sources: Iterable[SourceFile]) -> DataFrame:
    """The facts of files whose text is at hand."""
    rows = [{"file": s.file, "module": s.module, "text": s.text} for s in sources]
    schema = pa.schema([("file", pa.string()), ("module", pa.string()), ("text", pa.binary())])
    return _parse(spark, pa.Table.from_pylist(rows, schema))


def _parse(spark: SparkSession, files: pa.Table) -> DataFrame:
    return spark.createDataFrame(files).repartition(_TASKS).mapInArrow(_facts_of_batches, _FACTS_DDL)


def _facts_of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does: batches of files in, one batch of facts for each file out."""
    for batch in batches:
        for row in batch.to_pylist():
            text = row["text"] if "text" in row else Path(row["path"]).read_bytes()
            source = SourceFile(row["file"], row["module"], text)
            yield fact_batch(source.module, facts_of(source))


def fact_batch(module: str, facts: Iterable[Fact]) -> pa.RecordBatch:
    """The facts of one module in the travelling form."""
    rows = [
        (module, relation, *(_as_text(v) for v in row), *(None,) * (len(VALUES) - len(row))) for relation, row in facts
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(FACTS)
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=FACTS)


def _as_text(value: str | int) -> str:
    """Text that UTF-8 can carry: a lone surrogate, which Python's strings allow, becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
