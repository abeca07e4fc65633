"""What Soufflé's programs compute and Spark has no function for: regular expressions, structures, numbers of texts.

Each file provides its functions to circuits.
"""

from deltic.discovery import import_files

import_files(__name__, list(__path__))
