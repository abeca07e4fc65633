"""A text file as blocks of whole lines, so that a file of any size is read in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

_BLOCK = 32 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a file, as bytes without line ends; `first` is the number of the first one, from 1."""

    first: int
    lines: pa.Array


def blocks(path: Path, size: int = _BLOCK) -> Iterator[Block]:
    """The lines of a file, decompressed when its name says that it is compressed; a byte order mark is skipped."""
    first, rest = 1, b""
    with pa.input_stream(str(path)) as stream:
        rest = stream.read(len(_BOM)).removeprefix(_BOM)
        while data := stream.read(size):
            whole, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                yield Block(first, lines := _lines(whole))
                first += len(lines)
    if rest:
        yield Block(first, _lines(rest.removesuffix(b"\n")))


def _lines(data: bytes) -> pa.Array:
    return pc.split_pattern(pa.array([data], pa.large_binary()), b"\n").flatten()
