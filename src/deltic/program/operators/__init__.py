"""Lowering of each operator of an incremental circuit to a program, registered in the tables of `scope`.

A linear or multilinear operator becomes rules; any other operator becomes a relation with its own definition.
"""

from deltic.discovery import import_files

import_files(__name__, __path__)
