"""The functions of `url`, over texts."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from deltic.datalog.ddlog.natives import native
from deltic.datalog.ddlog.values import NONE, Struct, err, ok, some

_PORTS = {"ftp": 21, "http": 80, "ws": 80, "https": 443, "wss": 443}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _option(value: object) -> Struct:
    return NONE if value is None else some(value)


def _after(text: str, sign: str) -> Struct:
    """What stands behind the first such sign, `None` where there is none."""
    _, found, behind = text.partition(sign)
    return some(behind) if found else NONE


@native("url::url_parse")
def url_parse(text: str) -> Struct:
    """The address that a text says: its port left out where it is the scheme's own, its path `/` where it has none."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        return err(str(error))
    if not _SCHEME.match(text.strip()):
        return err("relative URL without a base")
    if parts.scheme not in _PORTS:
        return ok(urlunsplit(parts))
    if not parts.hostname:
        return err("empty host")
    user = parts.netloc.rpartition("@")[0]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    told = f":{port}" if port is not None and port != _PORTS[parts.scheme] else ""
    place = f"{user}@{host}{told}" if user else f"{host}{told}"
    return ok(urlunsplit(parts._replace(netloc=place, path=parts.path or "/")))


@native("url::join")
def join(url: str, other: str) -> Struct:
    """The address that another one is, seen from this one."""
    if cannot_be_a_base(url) and not _SCHEME.match(other):
        return err("relative URL with a cannot-be-a-base base")
    return url_parse(urljoin(url, other))


@native("url::url_to_string")
def text(url: str) -> str:
    """Its text."""
    return url


@native("url::scheme")
def scheme(url: str) -> str:
    """What stands before the first colon."""
    return urlsplit(url).scheme


@native("url::has_authority")
def has_authority(url: str) -> bool:
    """Whether it tells a place in the net."""
    return urlsplit(url).netloc != ""


@native("url::cannot_be_a_base")
def cannot_be_a_base(url: str) -> bool:
    """Whether no path begins behind the colon, as in `mailto:`."""
    return not url.partition(":")[2].startswith("/")


@native("url::username")
def username(url: str) -> str:
    """The user, "" where there is none."""
    return urlsplit(url).username or ""


@native("url::password")
def password(url: str) -> Struct:
    """The password."""
    return _option(urlsplit(url).password)


@native("url::has_host")
def has_host(url: str) -> bool:
    """Whether it tells a host."""
    return bool(urlsplit(url).hostname)


@native("url::host_str")
def host_str(url: str) -> Struct:
    """The host, an address of version 6 in brackets."""
    return _option(_host(urlsplit(url)))


def _host(parts: SplitResult) -> str | None:
    found = parts.hostname
    return f"[{found}]" if found and ":" in found else found


@native("url::domain")
def domain(url: str) -> Struct:
    """The host where it is a name, and no address."""
    found = _host(urlsplit(url))
    return NONE if found is None or re.fullmatch(r"\[.*\]|[0-9.]+", found) else some(found)


@native("url::port")
def port(url: str) -> Struct:
    """The port that it tells."""
    return _option(urlsplit(url).port)


@native("url::port_or_known_default")
def port_or_known_default(url: str) -> Struct:
    """The port that it tells, or that of its scheme."""
    parts = urlsplit(url)
    return _option(parts.port or _PORTS.get(parts.scheme))


@native("url::path")
def path(url: str) -> str:
    """The path."""
    return urlsplit(url).path


@native("url::query")
def query(url: str) -> Struct:
    """What stands between `?` and `#`."""
    return _after(url.partition("#")[0], "?")


@native("url::fragment")
def fragment(url: str) -> Struct:
    """What stands behind `#`."""
    return _after(url, "#")
