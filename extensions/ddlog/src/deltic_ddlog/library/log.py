"""The function of `log`, and the receivers of messages while `Inspect` is computed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from deltic_ddlog.natives import native
from deltic_ddlog.values import UNIT

_LOGGER = logging.getLogger("deltic.ddlog")
Hears = Callable[[int | None, str], Any]
_HEARS: ContextVar[Hears | None] = ContextVar("hears", default=None)


@contextmanager
def heard(by: Hears) -> Iterator[None]:
    """Send this thread's messages to `by`, with their levels; printed texts have the level None."""
    token = _HEARS.set(by)
    try:
        yield
    finally:
        _HEARS.reset(token)


def is_heard(level: int | None, text: str) -> bool:
    """Send a message to the receiver; whether there is one."""
    hears = _HEARS.get()
    if hears is not None:
        hears(level, text)
    return hears is not None


@native("log::log")
def log(module: int, level: int, text: str) -> Any:
    """Log a message of a module at DDlog's level, which counts the other way round than Python's."""
    if not is_heard(level, text):
        _LOGGER.info("module %d, level %d: %s", module, level, text)
    return UNIT
