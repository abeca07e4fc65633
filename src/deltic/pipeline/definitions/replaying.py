"""Replaying changes of definitions from a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from deltic.catalog import External
from deltic.errors import CatalogError, DelticError
from deltic.pipeline.connectors.written import Edit, Publication, of_json, table_of_json
from deltic.pipeline.definitions.altering import altering
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.front_end import SourceOptions
from deltic.pipeline.definitions.front_ends import front_end
from deltic.pipeline.definitions.programs import program_definitions, with_program
from deltic.pipeline.definitions.view import view_definition


def replayed(now: Definitions, edits: Iterable[Edit]) -> Definitions:
    """Apply the changes in the history of other definitions; raises what these changes raise."""
    return reduce(_again, edits, now)


def _again(now: Definitions, edit: Edit) -> Definitions:
    arguments = dict(edit)
    do = arguments.pop("do")
    if do in _AGAIN:
        return _AGAIN[do](now, **arguments)
    try:
        front_end(do)
    except DelticError as error:
        raise CatalogError(f"a definition was changed by {do!r}, which this Deltic does not know: {error}") from error
    return _language(now, do, **arguments)


def _program(now: Definitions, text: str, file: str, language: str, directories: Sequence[str] = ()) -> Definitions:
    return program_definitions(text, file, language, now, SourceOptions(directories=tuple(directories)))


def _language(now: Definitions, do: str, text: str, file: str, directories: Sequence[str] = ()) -> Definitions:
    """Replay the program of a front end; its change is named after it."""
    return with_program(now, text, file, do, SourceOptions(directories=tuple(directories)))


def _place(written: Mapping[str, Any] | None) -> External | None:
    return None if written is None else of_json(written)


_AGAIN: Mapping[str, Callable[..., Definitions]] = {
    "program": _program,
    "replace": Definitions.replacing,
    "table": lambda now, **table: now.with_table(table_of_json(**table)),
    "view": lambda now, name, text, hidden, replaces: now.with_view(view_definition(name, text, hidden), replaces),
    "drop": Definitions.dropping,
    "alter": altering,
    "attach": lambda now, name, source: now.attaching(name, _place(source)),
    "publish": lambda now, **made: now.publishing(Publication(made["view"], of_json(made["to"]), made["id"])),
    "unpublish": lambda now, view, to: now.unpublishing(view, _place(to)),
    # The caller has provided functions.
    "function": lambda now, name: now.after(now, "function", name=name),
}
"""The function that replays a change, by the change's name; it takes the logged arguments. Others are languages."""
