"""Rows that shards exchange: a wrong translation of an id, or a hash unlike Spark's, puts a row elsewhere."""

import gc

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltic.engine.executors.shards.encoded_rows import EncodedRows
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import NO_TIMES
from deltic.values.hashing import xxhash64
from deltic.values.types import Schema, Type

TYPES = {
    "text": (pa.string(), st.text(max_size=3)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 3), max_size=2)),
    "wide": (pa.decimal128(30, 0), st.integers(-(10**25), 10**25) | st.integers(-3, 3)),
    "number": (pa.int64(), st.integers(-3, 3)),
}
ROWS = st.fixed_dictionaries(
    {name: st.lists(st.none() | values, min_size=6, max_size=6) for name, (_, values) in TYPES.items()}
)


def table_of(rows):
    return pa.table({name: pa.array(rows[name], type_) for name, (type_, _) in TYPES.items()})


def encoded(table, interner):
    schema = Schema.of_arrow(table.schema)
    columns = [encode(table.column(i), column.type, interner) for i, column in enumerate(schema)]
    return EncodedRows(schema, columns, [1] * table.num_rows, NO_TIMES, interner)


@given(st.lists(ROWS, min_size=1, max_size=4), st.lists(st.integers(0, 4), unique=True, min_size=1))
def test_translated_and_hashed(batches, key):
    mine, other = Interner(), Interner()
    for rows in batches:
        table = table_of(rows)
        sent = encoded(table, mine)
        received = sent.columns_for(other)
        for i, column in enumerate(sent.schema):
            assert decode(*received[i], column.type, other).to_pylist() == table.column(i).to_pylist()
        assert sent.hashes(key).tolist() == xxhash64([table.column(i) for i in key], table.num_rows).tolist()


def test_a_known_text_is_not_decoded_again(monkeypatch):
    mine, other = Interner(), Interner()
    table = pa.table({"text": ["a", None, "b", "a"]})
    first = encoded(table, mine).columns_for(other)
    monkeypatch.setattr(mine[Type.STRING], "decode", None)
    again = encoded(table, mine).columns_for(other)
    assert [again[0][0].tolist(), again[0][1].tolist()] == [first[0][0].tolist(), first[0][1].tolist()]


def test_translations_end_with_their_source():
    mine, other = Interner(), Interner()
    encoded(pa.table({"text": ["a"]}), mine).columns_for(other)
    assert len(other[Type.STRING].sources) == 1
    del mine
    gc.collect()
    assert len(other[Type.STRING].sources) == 0
