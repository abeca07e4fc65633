"""Bytes to text, for files in which some lines may not be text."""

from __future__ import annotations

import pyarrow as pa


def decode(raw: pa.Array) -> pa.Array:
    """Lines of bytes as strings, null where a line is not UTF-8."""
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([line if is_utf8(line) else None for line in raw.to_pylist()], pa.large_string())


def is_utf8(raw: bytes) -> bool:
    """Whether a line is UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def shown(raw: bytes) -> str:
    """A line for messages: with a replacement character for what is not UTF-8, and no carriage return."""
    return raw.decode("utf-8", "replace").removesuffix("\r")
