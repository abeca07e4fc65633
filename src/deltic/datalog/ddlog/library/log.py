"""The function of `log`."""

from __future__ import annotations

import logging
from typing import Any

from deltic.datalog.ddlog.natives import native
from deltic.datalog.ddlog.values import UNIT

_LOGGER = logging.getLogger("deltic.ddlog")


@native("log::log")
def log(module: int, level: int, text: str) -> Any:
    """Log a message of a module at DDlog's level, which counts the other way round than Python's."""
    _LOGGER.info("module %d, level %d: %s", module, level, text)
    return UNIT
