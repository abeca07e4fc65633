"""The functions called in a plan that Spark does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from sqlglot import exp

from deltic.functions.function import PREFIX, PROVIDED, Function, is_call


def called_in(value: Any) -> dict[str, Function]:
    """Return the provided functions that are called in expressions anywhere in a program or circuit, by name."""
    result: dict[str, Function] = {}
    pending = [value] if PROVIDED else []
    while pending:
        part = pending.pop()
        if isinstance(part, exp.Expression):
            names = (node.name.removeprefix(PREFIX).lower() for node in part.find_all(exp.Anonymous) if is_call(node))
            result |= {name: PROVIDED[name] for name in names if name in PROVIDED}
        elif isinstance(part, Mapping):
            pending += part.values()
        elif isinstance(part, tuple | list | frozenset):
            pending += part
        elif is_dataclass(part):
            pending += (getattr(part, each.name) for each in fields(part))
    return result
