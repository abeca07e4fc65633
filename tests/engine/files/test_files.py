"""What all file systems of states promise, on each of them.

Catches one that gives other bytes than were written, that creates a file twice, or that cannot be told from another.
"""

from __future__ import annotations

import random

import pytest

from deltic.engine.files import remote
from deltic.engine.files.address import files_at
from deltic.engine.files.local import LocalFiles
from deltic.engine.files.object_store import Fsspec, Obstore
from deltic.engine.files.remote import RemoteFiles
from deltic.errors import StateError
from tests import s3
from tests.objects import Objects


def fsspec():
    return pytest.importorskip("fsspec", reason="fsspec is not installed: pip install fsspec")


def in_memory(tmp_path):
    fsspec()
    return files_at(f"memory://{tmp_path}")


def by_arrow(tmp_path):
    """A file system of pyarrow, as that of Hadoop is one."""
    fsspec()
    import pyarrow.fs
    from fsspec.implementations.arrow import ArrowFSWrapper

    return RemoteFiles(Fsspec(ArrowFSWrapper(pyarrow.fs.LocalFileSystem())), str(tmp_path / "arrow"))


def by_obstore(tmp_path):
    store = pytest.importorskip("obstore.store", reason="obstore is not installed")
    return RemoteFiles(Obstore(store.MemoryStore()), "files")


KINDS = {
    "directory": lambda tmp_path: LocalFiles(tmp_path / "files"),
    "file": lambda tmp_path: files_at(f"file://{tmp_path}/files"),
    "obstore": by_obstore,
    "objects": lambda tmp_path: RemoteFiles(Objects(), "bucket/files"),
    "memory": in_memory,
    "arrow": by_arrow,
}


@pytest.fixture(params=[*KINDS, *s3.KINDS])
def files(request, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    if request.param in KINDS:
        yield KINDS[request.param](tmp_path)
        return
    server = s3.Server(request.param, tmp_path / "objects")
    s3.use(monkeypatch, server.port)
    yield files_at(f"s3://{s3.BUCKET}/files")
    server.kill()


def test_files_have_what_was_written(files):
    assert files.names() == files.names("runs") == []
    assert files.write("runs/b", [b"one", b"", b"two"]) == 6
    files.write("runs/a", [])
    assert files.names("runs") == ["runs/a", "runs/b"]
    assert files.read("runs/b") == b"onetwo"
    assert (files.size("runs/a"), files.size("runs/b")) == (0, 6)
    assert len(files.open("runs/a").part(0, 10)) == 0
    files.remove("runs/b")
    files.remove("runs/b")
    assert files.names("runs") == ["runs/a"]
    with pytest.raises(FileNotFoundError):
        files.read("runs/b")
    files.clear()
    assert files.names("runs") == []


def test_parts_are_those_of_the_file(files):
    rng = random.Random(2)
    data = rng.randbytes(20_000)
    files.write("runs/a", [data])
    opened = files.open("runs/a")
    assert opened.size == len(data)
    for _ in range(50):
        start = rng.randrange(len(data) + 1000)
        end = start + rng.randrange(5000)
        assert bytes(opened.part(start, end)) == data[start:end]


def test_a_file_is_created_once(files):
    if isinstance(getattr(files, "store", None), Fsspec):
        with pytest.raises(OSError, match="no conditional put"):
            files.create("manifests/1", [b"one"])
        return
    files.create("manifests/1", [b"one"])
    with pytest.raises(FileExistsError):
        files.create("manifests/1", [b"two"])
    assert files.read("manifests/1") == b"one"


def test_files_are_had_from_another_place(files, tmp_path):
    files.write("runs/a", [b"some rows"])
    for other in (files.below("other"), LocalFiles(tmp_path / "third"), RemoteFiles(Objects(), "elsewhere")):
        other.adopt(files, "runs/a", "runs/new")
        other.adopt(files, "runs/a", "runs/new")
        assert other.read("runs/new") == b"some rows"
    files.remove("runs/a")
    assert files.read("other/runs/new") == b"some rows"


def test_one_writer_at_a_time(files):
    files.write("there", [b""])
    other = files.below("")
    if isinstance(getattr(files, "store", None), Fsspec):
        with pytest.raises(StateError, match="has no conditional put"):
            files.lock()
        return
    files.lock()
    with pytest.raises(StateError, match="has it open for writing"):
        other.lock()
    files.unlock()
    other.lock()
    other.unlock()


def test_a_file_written_anew_is_another_one():
    files = RemoteFiles(Objects(), "bucket")
    files.write("a", [b"one"])
    assert bytes(files.open("a").part(0, 3)) == b"one"
    files.write("a", [b"two"])
    assert bytes(files.open("a").part(0, 3)) == b"two"


def test_a_store_reads_blocks_once(monkeypatch):
    monkeypatch.setattr(remote, "BLOCK", 100)
    files = RemoteFiles(Objects(), "bucket")
    files.write("a", [bytes(10_000)])
    for _ in range(3):
        files.open("a").part(250, 260)
        files.open("a").part(240, 410)
    assert files.store.counts["read"] == 300
