"""Saying what is compiled: kernels are compiled when first called, once for an installation, and then kept on disk."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from numba.core import event

_LOG = logging.getLogger("deltic")
_KERNELS = __name__.rpartition(".")[0]


class _Announcer(event.Listener):
    """Logs each kernel that is compiled for a caller in Python, not those that it is made of."""

    def __init__(self) -> None:
        self._depth = 0
        self._greeted = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        module, _, name = function.__module__.rpartition(".")
        if not self._depth and module == _KERNELS:
            if not self._greeted:
                _LOG.warning("first use: compiling the local engine, once for this installation, in a minute or less")
            self._greeted = True
            _LOG.warning("compiling %s.%s", name, function.__name__)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1


@cache
def announce_compilation() -> None:
    """Log on "deltic", as warnings, which kernels numba compiles from now on; those found on disk it does not."""
    event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
