"""Aggregate functions: the type rule and the definition of each, one file for each function or family.

`ACCUMULATORS` finds each by its name; the local engine's file of the same name has its state and its update.
"""

from deltic.circuit.accumulators.accumulator import ACCUMULATORS, Accumulator, Parameter
from deltic.discovery import import_files

import_files(__name__, __path__)
