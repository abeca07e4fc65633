"""The front ends: SQL, Datalog, and those of other packages, found by entry points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from deltic.errors import DelticError, did_you_mean
from deltic.pipeline.definitions.by_sql import completed, defining
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.front_end import NO_OPTIONS, FrontEnd, FunctionName, SourceOptions
from deltic.sql.statements.program import FRONT
from deltic.sql.statements.statements import Defining, Statement

GROUP = "deltic.front_ends"
"""The group of entry points: each names a subclass of FrontEnd by the language's name."""

_ELSEWHERE = {"ddlog": ("DDlog", "deltic-ddlog", ".ddlog")}
"""Languages of packages that may not be installed: what to call them, what to install, how their files end."""


class Sql(FrontEnd):
    """Statements of SQL."""

    name, title, suffixes = "sql", FRONT, (".sql",)

    def define(self, now: Definitions, text: str, file: str, options: SourceOptions = NO_OPTIONS) -> Definitions:
        return _with_all(now, completed(text, file, now)[1])

    def program(
        self, start: Definitions, text: str, file: str, options: SourceOptions, before: Definitions
    ) -> tuple[Definitions, str]:
        text, statements = completed(text, file, before)
        return _with_all(start, statements), text


class Datalog(FrontEnd):
    """Datalog in Soufflé's syntax."""

    name, title, suffixes, has_macros = "datalog", "Soufflé", (".dl",), True

    def define(self, now: Definitions, text: str, file: str, options: SourceOptions = NO_OPTIONS) -> Definitions:
        return now.adding(text, file, options.macros)

    def program(
        self, start: Definitions, text: str, file: str, options: SourceOptions, before: Definitions
    ) -> tuple[Definitions, str]:
        made = self.define(start, text, file, options)
        return made, made.programs[-1].source.text

    def functions(self) -> Iterable[FunctionName]:
        from deltic.datalog.souffle import functions as _own  # noqa: F401 - it enters Soufflé's own into the table
        from deltic.datalog.souffle.words import SOUFFLE

        return [FunctionName(name, own, entry) for name, (own, entry) in SOUFFLE.items()]


def _with_all(now: Definitions, statements: Iterable[Statement]) -> Definitions:
    """Add the definitions of statements; raises ProgramError for a statement that defines nothing."""
    for statement in statements:
        if not isinstance(statement, Defining):
            remedy = "rows come from files; `deltic sql FILE` runs all kinds of statements"
            raise statement.error("a program has definitions alone", remedy)
    return reduce(defining, (s for s in statements if isinstance(s, Defining)), now)


DATALOG = Datalog()
_OWN: Mapping[str, FrontEnd] = {front_end.name: front_end for front_end in (Sql(), DATALOG)}


def front_end(name: str) -> FrontEnd:
    """Return the front end of that name; DelticError where it is not installed."""
    if name in _OWN:
        return _OWN[name]
    for point in entry_points(group=GROUP, name=name):
        return _loaded(point)
    if name in _ELSEWHERE:
        raise _not_installed(name)
    known = sorted({*_OWN, *_ELSEWHERE, *entry_points(group=GROUP).names})
    hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
    raise DelticError(f"there is no language {name}; {hint}")


def front_ends() -> Iterator[FrontEnd]:
    """Yield all installed front ends: the core's own, then those of other packages by name."""
    yield from _OWN.values()
    yield from map(_loaded, sorted(entry_points(group=GROUP), key=lambda point: point.name))


def front_end_of(path: Path, language: str = "") -> FrontEnd:
    """Return the front end of a program file: by language, else by suffix, else Datalog.

    Raises DelticError where it is not installed.
    """
    if language:
        return front_end(language)
    suffix = path.suffix.lower()
    for result in _OWN.values() if any(suffix in own.suffixes for own in _OWN.values()) else front_ends():
        if suffix in result.suffixes:
            return result
    for name, (_, _, ending) in _ELSEWHERE.items():
        if suffix == ending:
            raise _not_installed(name)
    return DATALOG


def _loaded(point: EntryPoint) -> FrontEnd:
    """Load an entry point; raises DelticError where it is no front end or cannot be imported."""
    package = point.dist.name if point.dist else "a package"
    try:
        result = point.load()
    except (ImportError, AttributeError) as error:
        raise DelticError(f"the front end {point.name} of {package} cannot be loaded: {error}") from error
    if not (isinstance(result, type) and issubclass(result, FrontEnd)):
        raise DelticError(f"the front end {point.name} of {package} is {point.value}, which is no class of FrontEnd")
    return result()


def _not_installed(name: str) -> DelticError:
    title, package, _ = _ELSEWHERE[name]
    return DelticError(f"{title} is a package of its own, which is not installed: pip install {package}")
