"""What pragmas set for all programs of a namespace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.program import Item, Setting


@dataclass(frozen=True)
class Settings:
    """Whether subtypes are left unchecked (`legacy`), and how many bits numbers have."""

    legacy: bool = False
    word_size: int = 64


def settings_of(items: Iterable[Item], findings: Findings) -> Settings:
    """The settings of all texts together; what one says otherwise than another is reported."""
    first: dict[str, Setting] = {}
    for item in items:
        if isinstance(item, Setting) and first.setdefault(item.name, item).value != item.value:
            other = first[item.name]
            message = f'the pragma "{item.name}" is "{other.value}" for all programs, as {other.span.place} says'
            findings.append(item.span.error(message, "let both say the same, or remove one of them"))
    size = first["word-size"].value if "word-size" in first else "64"
    return Settings("legacy" in first, int(size))
