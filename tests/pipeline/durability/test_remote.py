"""A state on another file system than the local disk, by what fsspec calls its operations."""

from __future__ import annotations

import pytest

from deltic.engine.files.remote import RemoteFiles
from deltic.errors import StateError
from deltic.pipeline.durability import state
from deltic.pipeline.options import Durability
from deltic.pipeline.session import Pipeline
from tests.objects import Objects
from tests.pipeline.durability.test_state import SQL, everything, sell


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
        assert everything(Pipeline(state="memory://", durability=Durability(readonly=True))) == before
    objects.clear()
    objects |= crashed
    del objects["bucket/state/lock"]
    with Pipeline(state="memory://") as pipeline:
        assert everything(pipeline) == before
        sell(pipeline, ("more", 8))


def test_what_is_missing_for_an_address_is_told():
    with pytest.raises(StateError, match=r"other places than directories need the package fsspec|Protocol not known"):
        Pipeline(state="nowhere://bucket/state")
