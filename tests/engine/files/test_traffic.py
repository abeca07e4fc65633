"""What is counted of files: catches bytes that count twice or never, and a mapped file that counts as read in full."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from deltic.engine.files.local import LocalFiles
from deltic.engine.files.remote import BLOCK, RemoteFiles
from tests.objects import Objects

SIZE = 8 << 20


@pytest.mark.parametrize("kind", ["directory", "objects"])
def test_bytes_are_counted_as_they_are_read(tmp_path, kind):
    made = LocalFiles(tmp_path) if kind == "directory" else RemoteFiles(Objects(), "bucket/there")
    data = np.random.default_rng(1).bytes(SIZE)
    made.write("a", [data[:100], data[100:]])
    assert (made.traffic.written, made.traffic.read) == (SIZE, 0)
    if kind == "objects":
        assert made.read("a") == data
        assert made.traffic.read == SIZE
    other = LocalFiles(tmp_path) if kind == "directory" else RemoteFiles(made.store, "bucket/there")
    opened = other.open("a")
    assert other.traffic.read == 0
    assert opened.part(SIZE // 2, SIZE // 2 + 10).tobytes() == data[SIZE // 2 : SIZE // 2 + 10]
    once = other.traffic.read
    assert opened.part(SIZE // 2, SIZE // 2 + 10).tobytes() == data[SIZE // 2 : SIZE // 2 + 10]
    assert other.traffic.read == once
    if kind == "objects" or sys.platform == "linux":
        assert 0 < once <= (BLOCK if kind == "objects" else SIZE // 2)
        assert int(opened.part(0, SIZE).sum()) == sum(data)
        assert other.traffic.read == SIZE
    assert made.traffic.written == SIZE
    assert other.traffic.written == 0
