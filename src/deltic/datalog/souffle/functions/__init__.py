"""Functions of Soufflé that Spark does not have: regular expressions, structures, conversions of numbers.

Each file provides its functions to circuits.
"""

from deltic.discovery import import_files

import_files(__name__, list(__path__))
