"""Change actions, derivatives, groups, Z-sets and fixpoints: the theory of the papers as a library that stands alone.

Every notion has the name the papers give it and lives in the file of that name; docs/theory.md lists them with
the tests that check them. Nothing here imports any other part of Deltic.
"""

from deltic.algebra.groups import AbelianGroup
from deltic.algebra.zset import ZSet

__all__ = ["AbelianGroup", "ZSet"]
