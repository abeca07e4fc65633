"""`deltic functions`."""

from __future__ import annotations

from deltic.cli.report import print_error
from deltic.errors import DelticError
from deltic.functions import FUNCTIONS
from deltic.pipeline.registry import Listed, listed, named


def functions_command(name: str | None) -> int:
    """Print the functions of a name, or all with what computes them; the exit status."""
    try:
        found = listed() if name is None else named(name)
    except DelticError as error:
        print_error(error)
        return 1
    for function in found:
        print(_short(function) if name is None else _full(function))
    return 0


def _short(function: Listed) -> str:
    return f"{', '.join(function.sql or function.souffle or function.ddlog)}: {', '.join(function.tiers)}"


def _full(function: Listed) -> str:
    languages = {"SQL": function.sql, "Soufflé": function.souffle, "DDlog": function.ddlog}
    lines = [f"{language}: {', '.join(names)}" for language, names in languages.items() if names]
    if function.sql or function.souffle:
        lines += [f"computed by {_told(entry)}" for entry in function.entries] or ["computed by the core"]
    return "\n".join([*lines, *(["in DDlog computed by Python within compiled rules"] if function.ddlog else [])])


def _told(entry: str) -> str:
    if entry == "core":
        return "the core"
    function = FUNCTIONS[entry]
    return f"{function.tier} ({entry}{f': {function.reason}' if function.reason else ''})"
