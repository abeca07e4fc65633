"""Operators, which compute changes from changes: queries of rules, and a kernel for each other kind of definition."""

from deltic.discovery import import_files

import_files(__name__, __path__)
