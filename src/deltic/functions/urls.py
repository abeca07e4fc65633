"""Functions of URLs, parsed as by Java's URI."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote_plus, unquote_to_bytes

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

TEXT = Type.STRING
_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_AUTHORITY = re.compile(r"(?:([^@]*)@)?(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::[0-9]*)?")
_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?|[0-9.]+|\[.*\]"
)
_ILLEGAL = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f-\xa0]|%(?![0-9A-Fa-f]{2})')
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2}|\+[0-9A-Fa-f]|-0)")
_SIGNED = re.compile(r"%[+-](?=[0-9A-Fa-f])")


def _parsed(url: str) -> dict[str, str | None] | None:
    """Return the parts of a URL by Spark's names; None for an invalid URL."""
    result = _URI.fullmatch(url)
    if result is None or _ILLEGAL.search(url):
        return None
    scheme, authority, path, query, fragment = result.groups()
    if scheme and authority is None and not path.startswith("/"):
        return {"PROTOCOL": scheme, "REF": fragment} if path else None
    user, host = _server(authority)
    return {
        "PROTOCOL": scheme,
        "AUTHORITY": authority or None,
        "USERINFO": user,
        "HOST": host,
        "PATH": path,
        "QUERY": query,
        "REF": fragment,
        "FILE": path if query is None else f"{path}?{query}",
    }


def _server(authority: str | None) -> tuple[str | None, str | None]:
    """Return the user and host of an authority, if it has a host."""
    result = _AUTHORITY.fullmatch(authority or "")
    return (result[1], result[2]) if result and _HOST.fullmatch(result[2]) else (None, None)


def _part(missing: Callable[[], str | None]) -> Callable[..., str | None]:
    def part(url: str, name: str, key: str | None = None) -> str | None:
        parts = _parsed(url)
        if parts is None:
            return missing()
        result = parts.get(name)
        if key is None or result is None:
            return result
        value = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", result) if name == "QUERY" else None
        return value and value[1]

    return part


def _is_url(url: str) -> bool | None:
    """True for a URL, NULL for what is none."""
    return True if _parsed(url) is not None else None


def _decoded(text: str) -> str | None:
    """Decode percent escapes; as in Java, an escape may be a sign and one digit."""
    if _BROKEN.search(text):
        return None
    return unquote_to_bytes(_SIGNED.sub("%0", text).replace("+", " ")).decode("utf-8", "replace")


FUNCTIONS |= by_rows(
    "no library parses URLs as Java's URI does",
    {
        "url_part": Function(TEXT, python=_part(lambda: None), tolerant=True, thorough=True),
        "is_url": Function(
            Type.BOOLEAN, python=_is_url, partial=True, failure=lambda _: "it is no URL; try_parse_url gives NULL"
        ),
        "url_encode": Function(TEXT, takes=(TEXT,), python=lambda text: quote_plus(text, safe="*").replace("~", "%7E")),
        "url_decode": Function(TEXT, takes=(TEXT,), python=_decoded, partial=True),
    },
)
