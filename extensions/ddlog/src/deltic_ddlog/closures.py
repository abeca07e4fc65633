"""Closures in columns and records: a closure is told by the code that it is made by, and by what it has captured."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable
from types import FunctionType
from typing import Any

Closure = Callable[..., Any]


class Closures:
    """The closures of a program that have been stored, by their texts. A program's texts mean something to it alone."""

    def __init__(self) -> None:
        self._known: dict[str, Closure] = {}

    def text(self, closure: Closure) -> str:
        """The text of a closure: the same for the same code with the same captured values."""
        if isinstance(closure, FunctionType) and not closure.__closure__:
            captured = repr((closure.__defaults__, closure.__kwdefaults__))
            said = hashlib.blake2b(marshal.dumps(closure.__code__) + captured.encode(), digest_size=8).hexdigest()
        else:
            said = f"{id(closure):x}"
        text = f"closure_{said}"
        self._known[text] = closure
        return text

    def of_text(self, text: str) -> Closure | None:
        """The closure of a text that `text` gave; None of another one."""
        return self._known.get(text)
