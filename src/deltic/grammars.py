"""Grammars of lark, whose tables are kept in the cache."""

from __future__ import annotations

import re
import sys
from functools import cache
from hashlib import sha256
from importlib import resources
from io import BytesIO

import lark
from lark import Lark

from deltic import caches


@cache
def load(package: str, start: str) -> Lark:
    """Return the parser of `grammar.lark` in a package, from the rule `start` on; names and digits are ASCII."""
    grammar = resources.files(package).joinpath("grammar.lark").read_text(encoding="utf-8")
    name = f"{start}-{sha256(f'{grammar} {lark.__version__} {sys.version}'.encode()).hexdigest()[:16]}"
    tables = caches.directory() / name
    if (kept := caches.read(tables)) is not None:
        return Lark.load(BytesIO(kept))
    made = Lark(
        grammar, start=start, parser="lalr", propagate_positions=True, maybe_placeholders=True, g_regex_flags=re.ASCII
    )
    made.save(content := BytesIO())
    caches.write(tables, content.getvalue())
    return made
