"""What tests of random texts share: breaking a text, the time that a text may take, and what an error must be."""

from __future__ import annotations

import random
import re
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deltic import DelticError
from deltic.errors import DiagnosticError

SECONDS = 30
"""What takes longer has no end."""
_ODD = ["\ud800", "\0", "\N{ZERO WIDTH SPACE}", "\r", "\t", "\N{FULLWIDTH COMMA}", "é", "\ufeff", "\N{PILE OF POO}"]


def broken(rng: random.Random, text: str, words: Sequence[str]) -> str:
    """A text that is cut off, or in which a token is dropped, doubled, moved, or another word."""
    tokens = re.findall(r"'[^']*'|\w+|\s+|.", text, re.DOTALL) or [""]
    at, kind = rng.randrange(len(tokens)), rng.randrange(8)
    if kind == 0:
        return text[: rng.randint(0, len(text))]
    if kind == 1:
        del tokens[at]
    elif kind == 2:
        tokens.insert(at, tokens[at])
    elif kind == 3:
        other = rng.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 4:
        tokens[at] = rng.choice(words)
    elif kind == 5:
        tokens.insert(at, f" {rng.choice(words)} ")
    elif kind == 6:
        tokens.insert(at, rng.choice(_ODD))
    else:
        del tokens[at : at + rng.randint(1, 6)]
    return "".join(tokens)


class NoEnd(Exception):
    """A text that takes too long."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise NoEnd where this takes too long."""

    def stop(*_: object) -> None:
        raise NoEnd

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault_of(error: Exception) -> str:
    """What is wrong with an error as an answer; "" where nothing is."""
    if not isinstance(error, DelticError):
        return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error)[-6:])}"
    if isinstance(error, DiagnosticError) and any(d.line < 1 and d.file for d in error.diagnostics):
        return f"no place: {error}"
    return ""
