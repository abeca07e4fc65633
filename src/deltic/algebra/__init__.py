"""Z-sets, the values of the reference interpreter. Imports nothing of Deltic.

>>> from deltic.algebra import ZSet
>>> ZSet.of(["ada", "bob"]) - ZSet.of(["bob"])
ZSet({'ada': 1})
"""

from deltic.algebra.zset import ZSet
