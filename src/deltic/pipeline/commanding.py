"""Programs that are run by commands of their own, as DDlog's are: what a front end offers for them."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Protocol

from deltic.catalog import FrontEndDefinitions
from deltic.errors import UnsupportedError
from deltic.pipeline.defining import Defining
from deltic.pipeline.definitions.front_end import FrontEnd
from deltic.pipeline.definitions.front_ends import front_end


class CommandSession(Protocol):
    """Runs commands over a pipeline with a program, and prints what they print."""

    def begin(self, is_silent: bool = False) -> None:
        """Compute what follows from facts alone, and print it unless it is to be silent."""

    def run(self, text: str, file: str = "<commands>", folder: Path | None = None) -> None:
        """Run commands to their end. Raises DataError, with the place of the command that failed."""


class CommandedFrontEnd(FrontEnd):
    """A front end whose programs take their rows from commands."""

    @abstractmethod
    def session(self, pipeline: Defining, part: FrontEndDefinitions) -> CommandSession:
        """What runs commands over a pipeline with a program, of which `part` was defined."""


def commanded(language: str) -> CommandedFrontEnd:
    """The front end of a language; UnsupportedError where its programs have no commands."""
    front = front_end(language)
    if not isinstance(front, CommandedFrontEnd):
        raise UnsupportedError(f"programs of {front.title} have no commands; those of DDlog have: language ddlog")
    return front
