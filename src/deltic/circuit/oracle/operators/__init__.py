"""The meanings of operators without memory, one file each, entered into the table of `pointwise`."""

from deltic.discovery import import_files

import_files(__name__, __path__)
