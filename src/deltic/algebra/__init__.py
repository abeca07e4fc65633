"""Z-sets, indexed Z-sets and groups: what the reference interpreter computes with. Imports nothing of Deltic.

`zset` and `indexed` are the values of circuits; `groups` says what values must form for changes to be differences.

    >>> from deltic.algebra import ZSet
    >>> ZSet.of(["ada", "bob"]) - ZSet.of(["bob"])
    ZSet({'ada': 1})
"""

from deltic.algebra.groups import AbelianGroup
from deltic.algebra.indexed import IndexedZSet
from deltic.algebra.zset import ZSet

__all__ = ["AbelianGroup", "IndexedZSet", "ZSet"]
