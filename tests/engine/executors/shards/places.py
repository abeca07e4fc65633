"""Where the files of shards are in tests: a directory, or a store of objects in this process, which tasks find, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltic.engine.executors.shards import compaction, staged_rows, tasks
from deltic.engine.files.files import Files
from deltic.engine.files.local import LocalFiles
from deltic.engine.files.remote import RemoteFiles
from tests.objects import Objects

KINDS = ("directory", "objects")


def files_of_kind(kind: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """The files of shards, and what tasks open of them."""
    if kind == "directory":
        return LocalFiles(directory / "shards")
    made = Objects()
    for module in (tasks, compaction, staged_rows):
        monkeypatch.setattr(module, "files_at", lambda place: RemoteFiles(made, place))
    return RemoteFiles(made, "bucket/shards")
