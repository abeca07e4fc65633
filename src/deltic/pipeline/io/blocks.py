"""Reads a text file, or a part of one, in blocks of whole lines, so that a file of any size fits in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow as pa

BLOCK = 32 << 20
STDIN = Path("/dev/stdin")
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_FIRST = 1 << 10


def blocks(path: Path, start: int = 0, end: int | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the lines that start in the bytes [start, end) of a file, each with a newline, the last one too.

    A file that is compressed, by its name or its first bytes, is decompressed, and read as a whole. A byte order mark
    is skipped.
    """
    end = sys.maxsize if end is None else end
    with BufferedReader(_stream(path)) as file:
        here = _first_line(file, start)
        while here < end and (block := file.read(min(size, end - here))):
            if not block.endswith(b"\n"):
                block += file.readline()
            here += len(block)
            yield block if block.endswith(b"\n") else block + b"\n"


def _first_line(file: BufferedReader, start: int) -> int:
    """Move to the first line that starts at `start` or later, and return its position."""
    if start:
        file.seek(start - 1)
        return start - 1 + len(file.readline())
    if not file.peek(len(_BOM)).startswith(_BOM):
        return 0
    return len(file.read(len(_BOM)))


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file that is not compressed."""
    with path.open("rb") as file:
        return file.read(_FIRST).removeprefix(_BOM)


def can_be_cut(path: Path) -> bool:
    """Return whether a text can be read from its middle, because it is not compressed."""
    with _stream(path) as file:
        return bool(file.seekable())


def _stream(path: Path) -> Any:
    """Return the bytes of a file, decompressed, as a stream."""
    if path == STDIN:
        return path.open("rb", buffering=0)
    with path.open("rb") as file:
        is_gzip = file.read(len(_GZIP)) == _GZIP
    return pa.input_stream(str(path), compression="gzip" if is_gzip else "detect")
