"""What brings a relation with a definition of its own up to date: a kernel for each class of definitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from deltic.engine.operators.query import Environment
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.definitions import Definition


class RelationUpdater(ABC):
    """Brings the state of one relation up to date with the `delta` of those that its definition reads."""

    @property
    def is_due(self) -> bool:
        """Whether the relation changes in the coming epoch even if nothing that it follows does."""
        return False

    @property
    def recomputes(self) -> str:
        """Why each change costs all rows, "" where it does not."""
        return ""

    @abstractmethod
    def change(self) -> Run | None:
        """The change of the relation, None for none."""


# From a definition, the states of the relations that it reads, and the state of the relation that it defines.
Make = Callable[[Any, Mapping[str, State], State, Environment], RelationUpdater]
KERNELS: dict[type[Definition], Make] = {}


def kernel_of(definition: type[Definition]) -> Callable[[Make], Make]:
    """Enter how the kernel of a class of definitions is made."""
    return lambda make: KERNELS.setdefault(definition, make)
