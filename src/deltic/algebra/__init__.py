"""Z-sets, indexed Z-sets and groups: the values of the reference interpreter. Imports nothing of Deltic.

`zset` and `indexed` are the values of circuits; `groups` defines the algebra that makes changes differences.

    >>> from deltic.algebra import ZSet
    >>> ZSet.of(["ada", "bob"]) - ZSet.of(["bob"])
    ZSet({'ada': 1})
"""

from deltic.algebra.groups import AbelianGroup
from deltic.algebra.indexed import IndexedZSet
from deltic.algebra.zset import ZSet

__all__ = ["AbelianGroup", "IndexedZSet", "ZSet"]
