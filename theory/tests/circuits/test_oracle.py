"""The tests of the reference interpreter's cycles and windows, run by streams as functions and by dataflow machines.

Collected here with this folder's `run`. Catches an evaluator that agrees on random circuits and is wrong by hand.
"""

from __future__ import annotations

from tests.circuit.test_cycles import *  # noqa: F403
from tests.circuit.test_window import *  # noqa: F403
