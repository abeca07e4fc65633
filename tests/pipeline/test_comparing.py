"""Rows of a source that shards compare with those of a table: what differs is what this process would find.

Catches a row that comes though it is there, or stays though the source has it no more; a row that is looked for on
another shard than its own; values for which a shard has no place yet; a batch that comes to the driver's memory; and a
comparison that changes something.
"""

from __future__ import annotations

import random
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest

from deltic.engine.comparing import EVERYTHING, Beside, compared, netted
from deltic.engine.executors.shards import staged_rows
from deltic.engine.executors.shards.staged_rows import MessageBatch, StagedRows
from deltic.engine.keyed import UPSERT, Keyed
from deltic.errors import DelticError
from deltic.pipeline.rows.posting import PostedRows
from deltic.pipeline.session import Pipeline
from deltic.pipeline.shards import Shards
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.pipeline.connectors.test_by_tasks import Numbers, run_over

SQL = """
    CREATE TABLE sale (id BIGINT NOT NULL, shop STRING, price DECIMAL(9, 2), version BIGINT, PRIMARY KEY (id));
    CREATE TABLE line (shop STRING, price DECIMAL(9, 2), version BIGINT);
    CREATE TABLE shop (shop STRING, land STRING);
    CREATE VIEW lands AS SELECT land, count(*) AS n, sum(price) AS price FROM sale JOIN shop USING (shop) GROUP BY land;
    CREATE VIEW lines AS SELECT land, price FROM line JOIN shop USING (shop)
"""


@pytest.fixture(autouse=True)
def tasks(monkeypatch):
    """Tasks run here, and all rows that they write stand in files."""
    only_jobs_here(monkeypatch)
    monkeypatch.setattr("deltic.engine.executors.spark.job.run_over", run_over)
    monkeypatch.setattr(staged_rows, "_FEW", 0)


@pytest.fixture
def pipeline(tmp_path):
    shards = Shards(3, directory=tmp_path / "shards", executor="job")
    with Pipeline(Numbers(), engine="spark", shards=shards) as made:
        made.sql(SQL)
        made._epochs.begin()
        yield made


def written(pipeline, name, rows, weight, monkeypatch):
    """Rows as tasks write them, of three partitions."""
    table, letters = pipeline.catalog.tables[name], []
    site = pipeline._epochs.site(table)
    site = site.by_key(True) if weight == UPSERT else site
    for part in range(3):
        start, end = len(rows) * part // 3, len(rows) * (part + 1) // 3
        context = SimpleNamespace(get=lambda part=part: SimpleNamespace(partitionId=lambda: part))
        monkeypatch.setattr("pyspark.TaskContext", context)
        read = PostedRows(name, table.schema, weight, table if weight == UPSERT else None)
        letters += site.posting.over(rows.slice(start, end - start).to_batches(7), read)
    return StagedRows(site, letters)


def random_rows(rng, schema, count, many):
    """Rows of a table with different keys, from few values or from many."""
    texts = [f"{'text ' * many}{n}" for n in range(3 + 60 * many)] + [None]
    make = {
        "id": lambda n: rng.randrange(n * 3, n * 3 + 2) << (30 * many),
        "shop": lambda n: rng.choice(texts),
        "price": lambda n: rng.choice([None, Decimal(rng.randrange(9 + 10**6 * many)) / 4]),
        "version": lambda n: rng.choice([None, rng.randrange(9)]),
    }
    return pa.table([pa.array([make[f.name](n) for n in range(count)]).cast(f.type) for f in schema], schema=schema)


def listed(rows):
    return sorted(map(tuple, (row.values() for row in rows.to_pylist())), key=repr)


@pytest.mark.parametrize("name", ["sale", "line"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 8))])
def test_what_differs_is_what_this_process_finds(pipeline, monkeypatch, name, seed):
    rng, table = random.Random(f"{name} {seed}"), pipeline.catalog.tables[name]
    keyed, schema = Keyed(name, table.key), table.schema.to_arrow()
    by_key = UPSERT if table.key else 1
    for step in range(6):
        epoch, version = pipeline.epoch, pipeline._version()
        there = version.read(name, table=True)
        new = random_rows(rng, schema, rng.randrange(40), step // 3)
        kept = there.filter(pa.array([rng.random() < 0.8 for _ in range(len(there))], pa.bool_()))
        if table.key:
            kept = kept.filter(
                pa.array([key not in new["id"].to_pylist() for key in kept["id"].to_pylist()], pa.bool_())
            )
        rows = pa.concat_tables([new, kept])
        rows = rows.take(pa.array(rng.sample(range(len(rows)), len(rows)), pa.int64()))
        beside, weight = rng.choice([(EVERYTHING, 1), (Beside("version", 4, True), by_key)])
        if not beside.is_whole:
            rows = pa.concat_tables([rows, rows.slice(0, 2)])  # a key twice
        given = written(pipeline, name, rows, weight, monkeypatch)
        wanted = compared(keyed, given.to_arrow(), version, beside)
        with monkeypatch.context() as patch:
            patch.setattr(MessageBatch, "to_arrow", None if beside.is_whole else MessageBatch.to_arrow)
            found = pipeline._epochs.compared(table, given, beside)
        assert listed(netted(found.to_arrow())) == listed(netted(wanted))
        assert found.report.inserted - found.report.deleted == sum(wanted["__weight__"].to_pylist())
        assert (pipeline.epoch, listed(pipeline._version().read(name, table=True))) == (epoch, listed(there))
        with pipeline.transaction() as change:
            change.append(name, found)
            change.insert("shop", [(f"{rng.random()}", "x")])
        if beside.is_whole:
            assert listed(pipeline[name].to_arrow()) == listed(rows)


def test_an_error_of_a_comparison_is_that_of_the_rows(pipeline, monkeypatch):
    """A key that several rows of a source have is told with them; nothing is changed."""
    sale = pipeline.catalog.tables["sale"]
    with pipeline.transaction() as change:
        change.insert("sale", [(1, "a", None, 1)])
    rows = pa.table([[1, 2, 2], ["a", "a", "b"], [None, None, None], [1, 1, 1]], sale.schema.names).cast(
        sale.schema.to_arrow()
    )
    found = pipeline._epochs.compared(sale, written(pipeline, "sale", rows, 1, monkeypatch), EVERYTHING)
    assert listed(found.to_arrow()) == [(2, "a", None, 1, 1), (2, "b", None, 1, 1)]
    with pytest.raises(DelticError, match=r"the key id = 2: \(2, 'a', NULL, 1\)"), pipeline.transaction() as change:
        change.append("sale", found)
    assert list(pipeline["sale"]) == [(1, "a", None, 1)]
    lost = written(pipeline, "sale", rows, 1, monkeypatch)
    for name in lost.named:
        lost.files.remove(name)
    with pytest.raises(DelticError, match="it cannot be read"):
        pipeline._epochs.compared(sale, lost, EVERYTHING)
