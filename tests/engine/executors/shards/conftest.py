"""What the tests of shards share: `files` is each place in turn in which files of shards may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltic.engine.files.files import Files
from tests.engine.executors.shards.places import KINDS, files_of_kind


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    return files_of_kind(request.param, tmp_path, monkeypatch)
