"""A state on another file system than the local disk, by what fsspec calls its operations."""

from __future__ import annotations

import pytest

from deltic.errors import StateError
from deltic.pipeline.durable import state
from deltic.pipeline.durable.remote import RemoteFiles
from deltic.pipeline.session import Pipeline
from tests.pipeline.durable.test_state import SQL, everything, sell


class Objects(dict):
    """The operations of fsspec that are used, over a dictionary."""

    def ls(self, path, detail, refresh):
        found = {f"{path}/{name[len(path) + 1 :].partition('/')[0]}" for name in self if name.startswith(f"{path}/")}
        if not found:
            raise FileNotFoundError(path)
        return sorted(found)

    def info(self, path):
        return {"size": len(self[path])}

    def cat_file(self, path):
        return self[path]

    def pipe_file(self, path, data):
        self[path] = bytes(data)

    def makedirs(self, path, exist_ok):
        assert exist_ok

    def exists(self, path):
        return path in self

    def rm_file(self, path):
        del self[path]


@pytest.fixture
def objects(monkeypatch):
    made = Objects()
    monkeypatch.setattr(state, "files_at", lambda place: RemoteFiles(made, "bucket/state"))
    return made


def test_a_state_in_an_object_store(objects):
    with Pipeline(state="memory://") as pipeline:
        pipeline.sql(SQL)
        for n in range(5):
            sell(pipeline, (f"shop {n}", n))
        pipeline.checkpoint()
        sell(pipeline, ("last", 7))
        before, crashed = everything(pipeline), dict(objects)
        with pytest.raises(StateError, match="If that process is no more, remove bucket/state/lock"):
            Pipeline(state="memory://")
        assert everything(Pipeline(state="memory://", readonly=True)) == before
    objects.clear()
    objects |= crashed
    del objects["bucket/state/lock"]
    with Pipeline(state="memory://") as pipeline:
        assert everything(pipeline) == before
        sell(pipeline, ("more", 8))


def test_what_is_missing_for_an_address_is_told():
    with pytest.raises(StateError, match=r"other places than directories need the package fsspec|Protocol not known"):
        Pipeline(state="nowhere://bucket/state")
