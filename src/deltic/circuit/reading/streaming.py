"""Readers of flatmaps and windows."""

from __future__ import annotations

import re

from deltic.circuit import operators as ops
from deltic.circuit.reading.line import Line
from deltic.circuit.reading.scalars import split
from deltic.circuit.words import WRITTEN, unquoted


def read_flat_map(line: Line) -> ops.FlatMap:
    """``[generator(expression, …) AS column]``."""
    found = re.fullmatch(rf"\[(\w+)\((.*)\) AS ({WRITTEN})\]", line.argument("BRACKETS"), re.DOTALL)
    if found is None:
        raise line.places.error(line.arguments or line.keyword, f"{line.keyword} takes [generator(...) AS column]")
    return ops.FlatMap(unquoted(found[3]), found[1], tuple(map(line.expression, split(found[2]))))


def read_window(line: Line) -> ops.Window:
    """``[column, length]``."""
    found = re.fullmatch(rf"\[({WRITTEN}), (\d+)\]", line.argument("BRACKETS"))
    if found is None:
        raise line.places.error(line.arguments or line.keyword, f"{line.keyword} takes [column, length]")
    return ops.Window(unquoted(found[1]), int(found[2]))
