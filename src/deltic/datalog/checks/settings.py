"""Pragmas that apply to all programs of a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deltic.circuit.edges import ZSetType
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.formulas import BodyAtom, bare, with_inner
from deltic.datalog.syntax.program import Item, Pragma


@dataclass(frozen=True)
class ProgramSettings:
    """Whether subtypes are unchecked (`legacy`), and the number of bits of numbers."""

    legacy: bool = False
    word_size: int = 64


def check_widths(
    rules: Iterable[CheckedRule], others: Mapping[str, ZSetType], word_size: int, findings: Findings
) -> None:
    """Report atoms of other front ends' relations whose numbers have more bits than the word size."""
    if word_size == 64:
        return
    for rule in rules:
        for atom in (part for literal in with_inner(rule.body) if isinstance(part := bare(literal), BodyAtom)):
            for column in others[atom.relation].schema if atom.relation in others else ():
                if (column.type.is_integer or column.type.is_float) and column.type.bits > word_size:
                    message = f"`{atom.relation}` has numbers of {column.type.bits} bits in `{column.name}`"
                    hint = f"here they have {word_size}: read a view that casts them, or let the word size be 64"
                    findings.append(atom.span.error(message, hint))


def settings_of(items: Iterable[Item], findings: Findings) -> ProgramSettings:
    """Return the settings of all texts together; contradictions are reported."""
    first: dict[str, Pragma] = {}
    for item in items:
        if isinstance(item, Pragma) and first.setdefault(item.name, item).value != item.value:
            other = first[item.name]
            message = f'the pragma "{item.name}" is "{other.value}" for all programs, as {other.span.place} says'
            findings.append(item.span.error(message, "let both say the same, or remove one of them"))
    size = first["word-size"].value if "word-size" in first else "64"
    return ProgramSettings("legacy" in first, int(size))
