"""The functions of `intern`: interned strings are the strings, which have no numbers."""

from __future__ import annotations

from deltic_ddlog.natives import native, natives

natives("intern", {"string_intern istring_str": lambda text: text})


@native("intern::istring_ord")
def istring_ord(text: str) -> int:
    """Raises ValueError: such numbers come in the order in which strings were seen, and change with it."""
    raise ValueError("interned strings have no numbers: they would depend on the order in which strings were seen")
