"""The functions of `print`. `Inspect` prints where dumps go; other calls print to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from deltic_ddlog.codecs import Codecs
from deltic_ddlog.library.log import is_heard
from deltic_ddlog.natives import Instance, native
from deltic_ddlog.values import UNIT


@native("print::print")
def told(text: str) -> Any:
    """Write a text."""
    if not is_heard(None, text):
        sys.stderr.write(f"{text}\n")
    return UNIT


@native("print::debug", typed=True)
def debug(instance: Instance) -> Callable[[Any], Any]:
    """Write a value as dumps print it."""
    show = Codecs(instance.types).of(instance.parameters[0]).show
    return lambda value: told(show(value))
