"""What each operator of an incremental circuit is in a program: one file each, entered into the tables of `scope`.

An operator that is linear or multilinear becomes rules; another one becomes a relation with a definition of its own.
"""

from deltic.discovery import import_files

import_files(__name__, __path__)
