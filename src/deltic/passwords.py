"""Passwords in addresses: kept in the memory of this process alone, and shown nowhere.

Definitions hold an address without its password, `postgresql://me:***@host/shop`: so do states, statements that are
shown, plans, logs and errors. `hidden` makes it and remembers the password; `revealed` gives the whole address to who
connects. Another process has to be given the password again, or finds it in its environment: `${NAME}`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote

_HIDDEN = "***"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_END = r"[^&;\s'\"`]"
_PASSWORDS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/?#@:'\"`]*:)(?P<password>[^\s/?#'\"`]+)(?=@)",
        rf"(?P<before>\b\w*(?:password|passwd|pwd)=)(?P<password>{_END}+)",
        r"(?P<before>\b\w*(?:password|passwd|pwd)\s+')(?P<password>[^']+)(?=')",
        r"(?P<before>jdbc:oracle:\w+:[^\s/@'\"`]+/)(?P<password>[^\s@'\"`]+)(?=@)",
    )
]
# Passwords as short as these may be parts of any word.
_SHORT = 4

# The addresses that `hidden` was given, by what it made of them; and all passwords, as they may be told by a database.
_WHOLE: dict[str, str] = {}
_KNOWN: set[str] = set()


def hidden(address: str) -> str:
    """Return the address without its password, which is remembered; one with a variable in its place has none."""
    without = _without(address)
    if without != address:
        _WHOLE[without] = address
        _learn(address)
    return without


def revealed(address: str) -> str:
    """Return the address with its password, and with the variables of the environment that it names.

    Raises KeyError for a missing variable, ValueError where this process was not given the password.
    """
    whole = _WHOLE.get(address, address)
    if _HIDDEN in _passwords(whole):
        raise ValueError(address)
    result = _VARIABLE.sub(lambda match: os.environ[match[1]], whole)
    _learn(result)
    return result


def hidden_in(text: str, addresses: Iterable[str]) -> str:
    """Return a text that names whole addresses, with those that `hidden` made of them in their place."""
    for address in addresses:
        whole = _WHOLE.get(address, address)
        if whole != address and address not in text:
            text = text.replace(whole, address) if whole in text else redacted(text)
    return text


def redacted(text: str) -> str:
    """Return a text that people read, or a log keeps, with `***` for the password of each address in it."""
    return _without(text) if ":" in text or "=" in text else text


def redacted_reason(text: str) -> str:
    """Return what a library says, where a password may stand by itself."""
    for password in sorted(_KNOWN, key=len, reverse=True):
        text = text.replace(password, _HIDDEN)
    return redacted(text)


def cause(error: BaseException) -> BaseException | None:
    """Return what an error of ours may name as its cause: an error of a library, without passwords; None where it keeps
    one.

    The arguments of it, and of what caused it, are changed.
    """
    chain = list[BaseException]()
    one: BaseException | None = error
    while one is not None and one not in chain:
        one.args = tuple(redacted_reason(each) if isinstance(each, str) else each for each in one.args)
        chain.append(one)
        one = one.__cause__ or one.__context__
    return error if all(str(each) == redacted_reason(str(each)) for each in chain) else None


def _without(text: str) -> str:
    for pattern in _PASSWORDS:
        text = pattern.sub(lambda match: match["before"] + _shown(match["password"]), text)
    return text


def _shown(password: str) -> str:
    return password if _VARIABLE.fullmatch(password) else _HIDDEN


def _passwords(address: str) -> set[str]:
    return {match["password"] for pattern in _PASSWORDS for match in pattern.finditer(address)}


def _learn(address: str) -> None:
    for password in _passwords(address):
        known = {password, unquote(password)} - {_HIDDEN}
        _KNOWN.update(each for each in known if len(each) >= _SHORT and not _VARIABLE.fullmatch(each))
