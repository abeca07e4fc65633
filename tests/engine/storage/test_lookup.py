"""Rows sought by many keys. Catches keys that are mixed up when their columns take more than a word together."""

from __future__ import annotations

import numpy as np
import pytest

from deltic.engine.storage.lookup import _are_among


@pytest.mark.parametrize("widths", [(3,), (64,), (3, 2), (64, 3), (2, 64), (40, 40), (64, 64, 64), (1, 63, 1, 2)])
def test_rows_are_found_by_all_columns_of_a_key(widths):
    rng = np.random.default_rng(sum(widths))

    def column(width: int, count: int) -> np.ndarray:
        choices = rng.integers(0, 1 << width, 3, np.uint64, endpoint=False) if width < 64 else None
        few = rng.integers(0, 1 << 64, 2, np.uint64) if choices is None else choices
        return rng.choice(np.append(few, np.uint64((1 << width) - 1)), count)

    pool = [column(width, 100) for width in widths]
    rows, wanted = [c[:70] for c in pool], [c[70:80] for c in pool]
    known = set(zip(*(c.tolist() for c in wanted), strict=True))
    expected = [row in known for row in zip(*(c.tolist() for c in rows), strict=True)]
    assert _are_among(rows, wanted).tolist() == expected
    assert not _are_among([c[:0] for c in rows], wanted).size
