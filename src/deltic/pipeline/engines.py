"""The engines by name."""

from __future__ import annotations

from typing import Literal

from deltic.circuit.graph import Circuit
from deltic.engine.protocol import Engine

EngineName = Literal["auto", "local", "reference"]


def new_engine(name: EngineName, circuit: Circuit) -> Engine:
    """An engine for the circuit, without rows; raises UnsupportedError when it cannot run it."""
    if name == "reference":
        from deltic.engine.reference import ReferenceEngine

        return ReferenceEngine(circuit)
    from deltic.engine.local.engine import LocalEngine

    return LocalEngine(circuit)
