"""What is kept of a group, and how its aggregates are read from that, in the files of the circuit's accumulators.

An accumulator takes the slots that it needs from `Slots` and says how a result is read from their totals.
"""

from deltic.discovery import import_files

import_files(__name__, __path__)
