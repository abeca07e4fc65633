"""Families of frozen dataclasses: operators, formulas, definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Immutable:
    """The base of a family: each subclass is a frozen dataclass without a decorator of its own."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
