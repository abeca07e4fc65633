"""The definitions of operators without state, registered in the table of `pointwise`."""

from deltic.discovery import import_files

import_files(__name__, __path__)
