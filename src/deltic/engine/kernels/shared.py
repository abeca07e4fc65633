"""Added rows that begin like other rows."""

from __future__ import annotations

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.types import Int, Ints, Words1, Words2


@compiled
def _are_alike(words: Words2, mask: Words1, i: Int, j: Int) -> bool:
    """Return whether two rows have the same bits of a mask."""
    for w in range(words.shape[0]):
        if (words[w, i] ^ words[w, j]) & mask[w]:
            return False
    return True


@kernel
def adds_shared(words: Words2, weights: Ints, mask: Words1, alike: Ints) -> bool:
    """Return whether a change adds a row that begins like another one, then or before.

    Its rows are sorted; `alike` is the weight of all rows before it that begin like each, none if there were no rows.
    """
    i = 0
    while i < words.shape[1]:
        first = i
        total = alike[i] if alike.size else 0
        added = False
        while i < words.shape[1] and _are_alike(words, mask, first, i):
            total += weights[i]
            added |= weights[i] > 0
            i += 1
        if added and total > 1:
            return True
    return False
