"""DDlog as a front end: what the entry point of the package names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltic.catalog import FrontEndDefinitions
from deltic.pipeline.commanding import CommandedFrontEnd
from deltic.pipeline.defining import Defining
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.front_end import NO_OPTIONS, FunctionName, SourceOptions

if TYPE_CHECKING:
    from deltic_ddlog.lowering.program import Lowered
    from deltic_ddlog.session import Session


@dataclass(frozen=True)
class DdlogPart(FrontEndDefinitions):
    """What a program defines, and how its records stand in that."""

    lowered: Lowered | None = None


class Ddlog(CommandedFrontEnd):
    """Differential Datalog, whose programs are run by its command language."""

    name, title, suffixes, has_imports = "ddlog", "DDlog", (".ddlog",), True
    computed_by = "Python within compiled rules"

    def define(self, now: Definitions, text: str, file: str, options: SourceOptions = NO_OPTIONS) -> Definitions:
        """Functions of Python are the program's extern functions of the same names."""
        from deltic_ddlog.check import check
        from deltic_ddlog.lowering.program import Lowered

        functions = {function.name: function.body for function in now.functions.values()}
        lowered = Lowered(check(text, file, options.places(file), functions))
        made = lowered.part
        part = DdlogPart(made.front, made.tables, made.definitions, made.order, lowered)
        return now.with_part(part, self.name, text, file, options.written)

    def session(self, pipeline: Defining, part: FrontEndDefinitions) -> Session:
        from deltic_ddlog.session import Session

        assert isinstance(part, DdlogPart)
        assert part.lowered is not None
        return Session(pipeline, part.lowered)

    def functions(self) -> Iterable[FunctionName]:
        from deltic_ddlog.library_functions import library_functions

        return library_functions()
