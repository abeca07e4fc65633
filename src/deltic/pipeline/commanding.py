"""The interface of front ends whose programs are run by commands, such as DDlog."""

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
    """Runs commands over a pipeline with a program, and prints their output."""

    def begin(self, is_silent: bool = False) -> None:
        """Derive the rows that follow from facts alone, and print them unless silent."""

    def run(self, text: str, file: str = "<commands>", folder: Path | None = None) -> None:
        """Run commands to their end. Raises DataError, with the place of the command that failed."""


class CommandedFrontEnd(FrontEnd):
    """A front end whose programs take their rows from commands."""

    @abstractmethod
    def session(self, pipeline: Defining, part: FrontEndDefinitions) -> CommandSession:
        """Make a session for commands over a pipeline; `part` has the definitions of the program."""


def commanded(language: str) -> CommandedFrontEnd:
    """Return the front end of a language; UnsupportedError where its programs have no commands."""
    front = front_end(language)
    if not isinstance(front, CommandedFrontEnd):
        raise UnsupportedError(f"programs of {front.title} have no commands; those of DDlog have: language ddlog")
    return front
