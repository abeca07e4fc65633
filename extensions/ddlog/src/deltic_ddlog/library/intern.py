"""The functions of `intern`: interned strings are the strings, which have no numbers."""

from __future__ import annotations

from deltic_ddlog.natives import native, natives

natives("intern", {"string_intern istring_str": lambda text: text})


@native("intern::istring_ord")
def istring_ord(text: str) -> int:
    """Raises ValueError: these numbers depend on the order in which strings were first seen."""
    raise ValueError("interned strings have no numbers: they would depend on the order in which strings were seen")
