"""Functions remembered by ids. Catches values that go to other ids, and more that are computed or kept than need be."""

from __future__ import annotations

import numpy as np
import pytest

from deltic.engine.operators import remembered
from deltic.engine.operators.remembered import ValueCache


@pytest.mark.parametrize("most", [1 << 16, 20, 3])
def test_values_are_those_of_their_ids_and_are_computed_once_while_there_is_room(most, monkeypatch):
    monkeypatch.setattr(remembered, "_MOST", most)
    memo, asked = ValueCache(), []
    rng = np.random.default_rng(most)

    def compute(ids):
        assert (np.diff(ids) > 0).all()
        asked.extend(ids.tolist())
        undefined = ids % 7 == 0
        return np.where(undefined, 0, ids * 3), undefined if undefined.any() else None

    for _ in range(50):
        ids = rng.integers(0, 30, rng.integers(1, 12))
        values, undefined = memo.of(ids, compute)
        there = ids % 7 != 0
        assert (undefined is None) == there.all()
        assert values[there].tolist() == (ids[there] * 3).tolist()
        assert undefined is None or undefined.tolist() == (~there).tolist()
        assert len(memo._known.ids) <= most
    assert (len(asked) == len(set(asked))) == (most > 30)
