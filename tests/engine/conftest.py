"""What the tests of engines share."""

from __future__ import annotations

from functools import lru_cache

import pytest

from deltic.circuit.graph import Circuit
from deltic.engine.options import EngineOptions
from deltic.program.compiling import Compiler
from deltic.program.program import Program


@lru_cache(maxsize=64)
def _program_of(circuit: Circuit, strict: bool) -> Program:
    return Compiler().program(circuit, strict=strict)


@pytest.fixture
def programs_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of a circuit depends on nothing else: tests that run the same ones in many ways make each once."""

    def made_once(self: EngineOptions, circuit: Circuit) -> Program:
        return _program_of(circuit, self.refresh.strict)

    monkeypatch.setattr(EngineOptions, "compiled", made_once)
