"""The functions of `url`, over texts."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from deltic_ddlog.natives import natives
from deltic_ddlog.values import NONE, Struct, err, ok, some

_PORTS = {"ftp": 21, "http": 80, "ws": 80, "https": 443, "wss": 443}
_IN_PATHS = ' "#<>?`{}'
_NO_HOST = re.compile(r"[\x00-\x20#%/:<>?@\[\\\]^|\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _option(value: object) -> Struct:
    return NONE if value is None else some(value)


def _after(text: str, sign: str) -> Struct:
    """Return what follows the first such sign, `None` where there is none."""
    _, result, behind = text.partition(sign)
    return some(behind) if result else NONE


def _parsed(text: str) -> Struct:
    """Return the address of a text, as browsers write it: with `%` for signs that it must not have.

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
    message = f":{port}" if port is not None and port != _PORTS[parts.scheme] else ""
    place = f"{user}@{host}{message}" if user else f"{host}{message}"
    path, query = _encoded(_straight(parts.path.replace("\\", "/")), _IN_PATHS), query.replace("'", "%27")
    return ok(urlunsplit(parts._replace(netloc=place, path=path, query=query, fragment=fragment)))


def _encoded(text: str, signs: str) -> str:
    """Return the text with these characters, control characters and all outside ASCII percent-encoded."""
    return quote(
        text, safe="".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in signs) + " " * (" " not in signs)
    )


def _ascii(host: str) -> str:
    """Return a host in ASCII, an address of version 6 in brackets. Raises UnicodeError."""
    return f"[{host}]" if ":" in host else unquote(host).encode("idna").decode()


def _straight(path: str) -> str:
    """Return the path with `.` and `..` resolved."""
    result = list[str]()
    *folders, last = path.removeprefix("/").split("/")
    for part in (*folders, last):
        plain = part.lower().replace("%2e", ".")
        if plain == "..":
            del result[-1:]
        elif plain != ".":
            result.append(part)
    is_folder = last.lower().replace("%2e", ".") in (".", "..")
    return "/".join(["", *result, *([""] if is_folder else [])]) or "/"


def _cannot_be_a_base(url: str) -> bool:
    """Return whether no path begins after the colon, as in `mailto:`."""
    return not url.partition(":")[2].startswith("/")


def _joined(url: str, other: str) -> Struct:
    """Another address resolved against this one."""
    if _cannot_be_a_base(url) and not _SCHEME.match(other):
        return err("relative URL with a cannot-be-a-base base")
    return _parsed(urljoin(url, other))


def _host(url: str) -> str | None:
    """Return the host, an address of version 6 in brackets."""
    result = urlsplit(url).hostname
    return f"[{result}]" if result and ":" in result else result


def _domain(url: str) -> Struct:
    """Return the host where it is a name, and no address."""
    result = _host(url)
    return NONE if result is None or re.fullmatch(r"\[.*\]|[0-9.]+", result) else some(result)


natives(
    "url",
    {
        "url_parse": _parsed,
        "join": _joined,
        "url_to_string": str,
        "scheme": lambda url: urlsplit(url).scheme,
        "has_authority": lambda url: urlsplit(url).netloc != "",
        "cannot_be_a_base": _cannot_be_a_base,
        "username": lambda url: urlsplit(url).username or "",
        "password": lambda url: _option(urlsplit(url).password),
        "has_host": lambda url: bool(urlsplit(url).hostname),
        "host_str": lambda url: _option(_host(url)),
        "domain": _domain,
        "port": lambda url: _option(urlsplit(url).port),
        "port_or_known_default": lambda url: _option(urlsplit(url).port or _PORTS.get(urlsplit(url).scheme)),
        "path": lambda url: urlsplit(url).path,
        "query": lambda url: _after(url.partition("#")[0], "?"),
        "fragment": lambda url: _after(url, "#"),
    },
)
