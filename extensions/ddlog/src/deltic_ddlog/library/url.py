"""The functions of `url`, over texts."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from deltic_ddlog.natives import native
from deltic_ddlog.values import NONE, Struct, err, ok, some

_PORTS = {"ftp": 21, "http": 80, "ws": 80, "https": 443, "wss": 443}
_IN_PATHS = ' "#<>?`{}'
_NO_HOST = re.compile(r"[\x00-\x20#%/:<>?@\[\\\]^|\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _option(value: object) -> Struct:
    return NONE if value is None else some(value)


def _after(text: str, sign: str) -> Struct:
    """What stands behind the first such sign, `None` where there is none."""
    _, found, behind = text.partition(sign)
    return some(behind) if found else NONE


@native("url::url_parse")
def url_parse(text: str) -> Struct:
    """The address that a text says, as browsers write it: with `%` in the place of signs that it must not have.

    Its port is left out where it is the scheme's own, and its path is `/` where it has none.
    """
    text = re.sub(r"[\t\n\r]", "", text.strip("".join(map(chr, range(0x21)))))
    try:
        parts = urlsplit(text)
    except ValueError:
        return err("invalid IPv6 address")
    try:
        port = parts.port
    except ValueError:
        return err("invalid port number")
    if not _SCHEME.match(text):
        return err("relative URL without a base")
    query, fragment = _encoded(parts.query, ' "#<>'), _encoded(parts.fragment, ' "<>`')
    if parts.scheme not in _PORTS:
        path = _encoded(parts.path, _IN_PATHS if parts.path.startswith("/") else "")
        return ok(urlunsplit(parts._replace(path=path, query=query, fragment=fragment)))
    if not parts.hostname:
        return err("empty host")
    try:
        host = _ascii(parts.hostname)
    except UnicodeError:
        return err("invalid international domain name")
    if ":" not in host and _NO_HOST.search(host):
        return err("invalid domain character")
    user = _encoded(parts.netloc.rpartition("@")[0], _IN_PATHS + "/;=@[\\]^|")
    told = f":{port}" if port is not None and port != _PORTS[parts.scheme] else ""
    place = f"{user}@{host}{told}" if user else f"{host}{told}"
    path, query = _encoded(_straight(parts.path.replace("\\", "/")), _IN_PATHS), query.replace("'", "%27")
    return ok(urlunsplit(parts._replace(netloc=place, path=path, query=query, fragment=fragment)))


def _encoded(text: str, signs: str) -> str:
    """The text with these signs, and all that are not ASCII's or control something, as `%` and their bytes."""
    return quote(
        text, safe="".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in signs) + " " * (" " not in signs)
    )


def _ascii(host: str) -> str:
    """A host in ASCII, an address of version 6 in brackets. Raises UnicodeError."""
    return f"[{host}]" if ":" in host else unquote(host).encode("idna").decode()


def _straight(path: str) -> str:
    """A path without `.` and `..`."""
    found = list[str]()
    *folders, last = path.removeprefix("/").split("/")
    for part in (*folders, last):
        plain = part.lower().replace("%2e", ".")
        if plain == "..":
            del found[-1:]
        elif plain != ".":
            found.append(part)
    is_folder = last.lower().replace("%2e", ".") in (".", "..")
    return "/".join(["", *found, *([""] if is_folder else [])]) or "/"


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
