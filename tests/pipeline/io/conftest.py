"""Readers and writers, with Spark and without, for tests that hold for both."""

from __future__ import annotations

import pytest

from deltic.pipeline.io.splits import ArrowReader
from deltic.pipeline.io.target import ArrowWriter

BOTH = ["arrow", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(params=BOTH)
def reader(request):
    if request.param == "arrow":
        return ArrowReader()
    from deltic.pipeline.io.by_spark import SparkReader

    return SparkReader(request.getfixturevalue("spark"))


@pytest.fixture(params=BOTH)
def writer(request):
    if request.param == "arrow":
        return ArrowWriter()
    from deltic.pipeline.io.by_spark import SparkWriter

    return SparkWriter(request.getfixturevalue("spark"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder that is the current one, so that messages name files without it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
