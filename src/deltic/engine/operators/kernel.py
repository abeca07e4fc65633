"""Kernels, which update relations with a definition of their own: one for each class of definitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from deltic.engine.operators.query import Environment
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.definitions import Definition


class RelationUpdater(ABC):
    """Updates the state of one relation by the `delta` of the relations that its definition reads."""

    @property
    def is_due(self) -> bool:
        """Return whether the relation changes in the coming epoch even if none of its sources does."""
        return False

    @property
    def recomputes(self) -> str:
        """Return why each change costs time proportional to all rows; "" if it does not."""
        return ""

    @abstractmethod
    def change(self) -> Run | None:
        """Return the change of the relation; None if there is none."""


# Makes a kernel from a definition, the states of its sources, and the state of the relation that it defines.
Make = Callable[[Any, Mapping[str, State], State, Environment], RelationUpdater]
KERNELS: dict[type[Definition], Make] = {}


def kernel_of(definition: type[Definition]) -> Callable[[Make], Make]:
    """Register the constructor of the kernel for a class of definitions."""
    return lambda make: KERNELS.setdefault(definition, make)
