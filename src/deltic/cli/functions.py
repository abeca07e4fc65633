"""`deltic functions`."""

from __future__ import annotations

from deltic.functions import FUNCTIONS
from deltic.pipeline.registry import ListedFunction, listed, named


def functions_command(name: str | None) -> None:
    """Print the functions of a name, or all with what computes them."""
    for function in listed() if name is None else named(name):
        short = f"{', '.join(next(iter(function.languages.values())))}: {', '.join(function.tiers)}"
        print(short if name is None else _full(function))


def _full(function: ListedFunction) -> str:
    lines = [f"{language}: {', '.join(names)}" for language, names in function.languages.items()]
    if function.in_table:
        lines += [f"computed by {_package(entry)}" for entry in function.entries] or ["computed by the core"]
    return "\n".join([*lines, *(f"in {language} computed by {what}" for language, what in function.beside.items())])


def _package(entry: str) -> str:
    if entry == "core":
        return "the core"
    function = FUNCTIONS[entry]
    return f"{function.tier} ({entry}{f': {function.reason}' if function.reason else ''})"
