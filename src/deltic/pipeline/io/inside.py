"""Checks that the files that a program names are inside the folders that its user has given.

The program may come from someone else. A name that leads out of a folder is refused. Links within the folder belong to
its owner, and are followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deltic.datalog import Directive
from deltic.errors import ProgramError

_FILES = ("file", "jsonfile", "sqlite")
_NAMES = ("filename", "dbname", "name")


def check_inside(directives: Iterable[Directive], facts: Path, out: Path | None) -> None:
    """Raise ProgramError if `.input` leads out of its folder, or `.output` out of its own."""
    folders = {"input": (facts, "--facts"), "output": (out, "--out")}
    findings = []
    for directive in directives:
        folder, option = folders.get(directive.kind, (None, ""))
        if folder is None or directive.options.get("IO", "file") not in _FILES:
            continue
        names = [directive.options[key] for key in _NAMES if key in directive.options]
        findings += [
            directive.span.error(
                f"`{name}` stands outside of {option}, the folder {folder}",
                "name a file in that folder; --allow-outside lets a program that you trust read and write elsewhere",
            )
            for name in names
            if not _is_inside(name, folder)
        ]
    if findings:
        raise ProgramError(findings)


def _is_inside(name: str, folder: Path) -> bool:
    path = folder / name
    if ".." in Path(name).parts:
        path, folder = path.resolve(), folder.resolve()
    return path.absolute().is_relative_to(folder.absolute())
