"""Readers that follow the writer of a state. Catches: epochs missed or done twice, stale definitions, lost news."""

import pytest

import deltic
from deltic.errors import DelticError, StateError

PROGRAM = (
    ".decl e(x: number, y: number)\n.decl p(x: number, y: number)\np(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z)."
)


def _insert(pipeline, *rows):
    with pipeline.transaction() as transaction:
        transaction.insert("e", rows)


@pytest.fixture
def both(tmp_path):
    """A writer, and a reader that was opened after its first epoch."""
    with deltic.Pipeline(state=tmp_path, durability=deltic.Durability(epochs=10**6, keep=1)) as writer:
        writer.datalog(PROGRAM)
        _insert(writer, (1, 2))
        with deltic.Pipeline(state=tmp_path, durability=deltic.Durability(readonly=True)) as reader:
            yield writer, reader


def test_a_reader_follows_epoch_by_epoch(both):
    writer, reader = both
    changes = reader.changes("p")
    _insert(writer, (2, 3))
    _insert(writer, (3, 4))
    assert sorted(reader["p"]) == [(1, 2)]
    assert reader.follow() == writer.epoch == 3
    assert sorted(reader["p"]) == sorted(writer["p"])
    assert [(change.epoch, len(list(change))) for change in changes] == [(2, 2), (3, 3)]
    assert reader.follow() == 3
    assert list(changes) == []


def test_a_reader_follows_changes_of_definitions(both):
    writer, reader = both
    writer.sql("CREATE VIEW ends AS SELECT max(y) AS y FROM e")
    _insert(writer, (2, 3))
    reader.follow()
    assert list(reader["ends"]) == [(3,)]
    writer.drop("ends")
    reader.follow()
    assert "ends" not in reader.views


def test_where_the_log_is_gone_a_reader_begins_with_the_checkpoint(both):
    writer, reader = both
    changes = reader.changes("p")
    for row in ((2, 3), (3, 4)):
        _insert(writer, row)
        writer.compact()
    assert reader.follow() == 3
    assert sorted(reader["p"]) == sorted(writer["p"])
    with pytest.raises(DelticError, match="no longer retained"):
        list(changes)
    _insert(writer, (4, 5))
    assert reader.follow() == 4
    assert sorted(reader["p"]) == sorted(writer["p"])


def test_many_readers_follow_at_random(tmp_path):
    """While the writer writes checkpoints, too."""
    with deltic.Pipeline(state=tmp_path, durability=deltic.Durability(epochs=3, keep=1)) as writer:
        writer.datalog(PROGRAM)
        readers = [deltic.Pipeline(state=tmp_path, durability=deltic.Durability(readonly=True)) for _ in range(3)]
        for n in range(24):
            _insert(writer, (n, n + 1))
            reader = readers[n % 5 % 3]
            assert reader.follow() == writer.epoch
            assert sorted(reader["p"]) == sorted(writer["p"])
        for reader in readers:
            reader.close()


def test_only_readers_follow(both, tmp_path):
    writer, _ = both
    with pytest.raises(DelticError, match="not a reader; open the state with durability=Durability\\(readonly=True"):
        writer.follow()
    with pytest.raises(DelticError, match="not a reader; open the state with durability=Durability\\(readonly=True"):
        deltic.Pipeline().follow()


def test_a_damaged_log_is_told_and_the_reader_stays(both, tmp_path):
    writer, reader = both
    _insert(writer, (2, 3))
    _insert(writer, (3, 4))
    (log,) = (tmp_path / "log").iterdir()
    damaged = bytearray(log.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    log.write_bytes(damaged)
    with pytest.raises(StateError):
        reader.follow()
    assert sorted(reader["p"]) in ([(1, 2)], [(1, 2), (1, 3), (2, 3)])
