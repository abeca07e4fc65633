"""Z-sets: what the reference interpreter computes with. Imports nothing of Deltic.

>>> from deltic.algebra import ZSet
>>> ZSet.of(["ada", "bob"]) - ZSet.of(["bob"])
ZSet({'ada': 1})
"""

from deltic.algebra.zset import ZSet
