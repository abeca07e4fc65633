"""Internal calls in texts replaced by the user's notation: Soufflé's structures, plain function names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltic.functions.function import PREFIX

_CALL = re.compile(rf"{PREFIX}([A-Z0-9_]+)\(")
_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[(),]")


def as_written(text: str) -> str:
    """Return the text with each internal call replaced by the user's notation.

    >>> as_written("SPARK_UNPACK('$Both(..)', 1, s) = SPARK_PACK('[i.]', x, SPARK_PACK('$Leaf')) AND SPARK_SIN(x) > 0")
    'field 2 of $Both s = [x, $Leaf] AND sin(x) > 0'
    """
    while calls := [*_CALL.finditer(text)]:
        call = calls[-1]
        arguments, end = _arguments(text, call.end())
        before, behind = text[: call.start()], text[end:]
        if call[1] == "STRUCTURE":
            before, behind = before.removesuffix("CHECKED("), behind.removeprefix(")")
        text = before + _written(call[1].lower(), arguments) + behind
    return text


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments between parentheses that open just before `start`, and the position after them."""
    depth, begin, result = 0, start, list[str]()
    for part in _PARTS.finditer(text, start):
        if part[0] == "(":
            depth += 1
        elif depth == 0 and part[0] in (")", ","):
            result.append(text[begin : part.start()].strip())
            begin = part.end()
            if part[0] == ")":
                return [argument for argument in result if argument], begin
        elif part[0] == ")":
            depth -= 1
    return [text[begin:]], len(text)


def _written(name: str, arguments: Sequence[str]) -> str:
    if name not in ("pack", "unpack", "structure"):
        return f"{name}({', '.join(arguments)})"
    shape, *rest = arguments
    if name == "structure":
        return rest[0]
    branch = shape.strip("'").partition("(")[0]
    is_record = branch.startswith("[")
    if name == "unpack":
        return f"field {int(rest[0]) + 1} of {'' if is_record else f'{branch} '}{rest[1]}"
    fields = ", ".join(rest)
    return f"[{fields}]" if is_record else f"{branch}({fields})" if fields else branch
