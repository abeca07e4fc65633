"""Operators: what becomes of changes. Queries of rules, and a kernel for each definition that is not one of rules."""

from deltic.discovery import import_files

import_files(__name__, __path__)
