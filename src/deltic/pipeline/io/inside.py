"""Whether the files that a program names stand in the folders that its user has given.

The text of a program may be somebody else's. A name that leads out of a folder is refused; links within the folder are
its owner's, and are followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deltic.datalog import Directive
from deltic.errors import ProgramError

_FILES = ("file", "jsonfile", "sqlite")
_NAMES = ("filename", "dbname", "name")


def check_inside(directives: Iterable[Directive], facts: Path, out: Path | None) -> None:
    """Raise ProgramError for `.input` that leads out of a folder, and `.output` where files are written to another."""
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
