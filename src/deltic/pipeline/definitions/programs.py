"""Definitions of a whole program: a text or a file in the language of a front end."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path

from deltic.catalog.altering import origin
from deltic.engine.files.address import path_here
from deltic.errors import CatalogError, DataError, DelticError, Diagnostic
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.front_end import NO_OPTIONS, SourceOptions
from deltic.pipeline.definitions.front_ends import front_end, front_end_of
from deltic.pipeline.definitions.growing import grown

_DIRECTIVE = re.compile(r"^\s*(\.(decl|input|output|type|comp|init|include)\b|#)", re.MULTILINE)


def program_of(
    given: str | Path, before: Definitions, options: SourceOptions = NO_OPTIONS, language: str = ""
) -> Definitions:
    """Return the definitions of a program, a file or a text; the language defaults to that of the file's suffix.

    A text with a directive such as `.decl` is Datalog, any other is SQL. Raises DataError for a file that is not text,
    ProgramError, and DelticError for a front end that is not installed. Functions, and what is attached and published,
    stay as `before`.
    """
    is_text = isinstance(given, str) and ("\n" in given or not Path(given).suffix)
    if is_text:
        language = language or ("datalog" if _DIRECTIVE.search(str(given)) else "sql")
        return program_definitions(str(given), f"<{language}>", language, before, options)
    path = path_here(given)
    front = front_end_of(path, language)
    return program_definitions(read_program(path), str(path), front.name, before, options)


def read_program(path: Path) -> str:
    """Read a program file. Raises DataError where it is not text, DelticError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError([Diagnostic("the program is not UTF-8 text", str(path))]) from error
    except OSError as error:
        raise DelticError(f"program {path}: {error.strerror or error}") from None


def program_definitions(
    text: str, file: str, language: str, before: Definitions, options: SourceOptions = NO_OPTIONS
) -> Definitions:
    """Return the definitions of a program; raises ProgramError, also for a statement that defines nothing."""
    front = front_end(language)
    front.check(options)
    start = Definitions(functions=before.functions, pragmas=before.pragmas)
    made, text = front.program(start, text, file, options, before)
    made = _with_rows(made, before)
    made.check()
    made = made.after(Definitions(), "program", text=text, file=file, language=language, **options.written)
    gone = before.catalog.relations.keys() - made.catalog.relations.keys()
    for name, source in before.attached.items():
        made = made if name in gone else made.attaching(name, source)
    return reduce(Definitions.publishing, (each for each in before.publications if each.view not in gone), made)


def _with_rows(made: Definitions, before: Definitions) -> Definitions:
    """Return definitions whose tables in SQL take over the rows of former ones, where these fit."""
    formers = before.catalog.shown_tables
    for table in made.sql.tables:
        former = formers.get(table.name, table)
        if former != table and origin(table, formers) is None:
            with suppress(CatalogError):
                made = replace(made, sql=made.sql.with_altered(table.name, grown(former, table)))
    return made


def with_program(now: Definitions, text: str, file: str, language: str, options: SourceOptions) -> Definitions:
    """Add a program to the present definitions. Raises what `program_of` does."""
    front = front_end(language)
    front.check(options)
    return front.define(now, text, file, options)
