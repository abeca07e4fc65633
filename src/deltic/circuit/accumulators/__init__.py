"""What a group's values come to: one file for each function, its type rule and its meaning.

Each is found by its name in `ACCUMULATORS`; the local engine's file of the same name has its state and its update.
"""

from deltic.circuit.accumulators.accumulator import ACCUMULATORS, Accumulator, Totals
from deltic.discovery import import_files

import_files(__name__, __path__)

__all__ = ["ACCUMULATORS", "Accumulator", "Totals"]
