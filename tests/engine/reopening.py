"""An engine that is written down and read again after every epoch, without files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltic.engine.engine import IncrementalEngine
from deltic.engine.image import Image, Json, Saved


@dataclass(frozen=True)
class Written:
    about: Mapping[str, Json]
    copies: Mapping[str, Any]

    def arrays(self) -> Mapping[str, Any]:
        return self.copies


def saved(image: Image) -> Saved:
    """What files would give back: descriptions as JSON, arrays as copies, each sequence in two stretches."""
    pieces = [Written(json.loads(json.dumps(p.about)), copies(p.arrays())) for p in image.pieces]
    growing = {}
    for name, sequence in image.growing.items():
        middle = sequence.count // 2
        cuts = [(0, middle), (middle, sequence.count)]
        growing[name] = [Written({}, copies(sequence.arrays(*cut))) for cut in cuts]
    return Saved(json.loads(json.dumps(image.about)), pieces, growing)


def copies(arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: array.copy() for name, array in arrays.items()}


class Reopening(IncrementalEngine):
    """Goes on with what it has written after each epoch, and after each change of its circuit."""

    def apply(self, *args: Any, **keywords: Any) -> Any:
        result = super().apply(*args, **keywords)
        self.restore(saved(self.capture()))
        return result

    def extend(self, circuit: Any) -> Any:
        result = super().extend(circuit)
        self.restore(saved(self.capture()))
        return result
