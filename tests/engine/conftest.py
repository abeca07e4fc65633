"""What the tests of engines share."""

from __future__ import annotations

from functools import lru_cache

import pytest

from deltic.engine.local import engine
from deltic.program.extract import program_of

_PROGRAM_OF = lru_cache(maxsize=64)(program_of)


@pytest.fixture
def programs_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of a circuit depends on nothing else: tests that run the same ones in many ways make each once."""
    monkeypatch.setattr(engine, "program_of", _PROGRAM_OF)
