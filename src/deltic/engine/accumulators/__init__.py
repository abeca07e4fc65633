"""The stored totals of groups, and how aggregates are read from them; files are named as the circuit's accumulators.

An accumulator allocates its slots in `Slots`, and defines how a result is read from their totals.
"""

from deltic.discovery import import_files

import_files(__name__, __path__)
