"""What a group's values come to: the type rule and the meaning of each function, in a file for each or for its kin.

Each is found by its name in `ACCUMULATORS`; the local engine's file of the same name has its state and its update.
"""

from deltic.circuit.accumulators.accumulator import ACCUMULATORS, Accumulator, Parameter, Totals
from deltic.discovery import import_files

import_files(__name__, __path__)

__all__ = ["ACCUMULATORS", "Accumulator", "Parameter", "Totals"]
