"""Addresses are read where numpy keeps them. This catches a numpy whose arrays begin with something else."""

from __future__ import annotations

import numpy as np
import pytest

from deltic.engine.kernels.memory import address_of

_NUMBERS = np.arange(12)
_FIXED = np.arange(3)
_FIXED.flags.writeable = False


@pytest.mark.parametrize(
    "array",
    [
        _NUMBERS,
        _NUMBERS[5:],
        _NUMBERS.reshape(3, 4)[1],
        _NUMBERS.reshape(3, 4)[:, 2:],
        _NUMBERS.view(np.uint64),
        np.zeros((2, 3), bool)[1],
        np.empty(0, np.int32),
        np.frombuffer(b"twelve bytes", np.uint8),
        _FIXED,
    ],
)
def test_an_address_is_what_numpy_says(array: np.ndarray) -> None:
    assert address_of(array) == array.ctypes.data == array.__array_interface__["data"][0]
