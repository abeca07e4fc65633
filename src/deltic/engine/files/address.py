"""Addresses of files and folders, on this machine or on another file system. Every address is parsed here.

A path is on this machine, and so is `file:/x`; `dbfs:/x` is below the folder where Databricks mounts it. An address
with a scheme and `//` belongs to an object store, or to a file system of fsspec. Any other scheme is refused: as a
path, it would be a folder named `s3:` in the present working directory.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from deltic.engine.files.files import Files
from deltic.engine.files.local import LocalFiles
from deltic.errors import DelticError, StateError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
_DBFS = Path("/dbfs")
"""Where Databricks mounts its own file system."""


def local_path(place: str | Path) -> Path | None:
    """Return the path on this machine of an address; None for one of an object store, or of fsspec.

    Raises DelticError for an address that is neither.
    """
    address = str(place)
    if isinstance(place, Path) or (scheme := _SCHEME.match(address)) is None:
        return Path(address)
    name, rest = scheme[1].lower(), address[scheme.end() :]
    if name == "file":
        host, path = rest[2:].partition("/")[::2] if rest.startswith("//") else ("", rest.removeprefix("/"))
        if host not in ("", "localhost"):
            raise DelticError(f"{address}: a file of this machine has three slashes, file:///{host}/{path}")
        return Path("/", unquote(path))
    if rest.startswith("//"):
        return None
    if name != "dbfs":
        raise DelticError(f"{address}: an address has two slashes after the colon, {name}:/{rest}")
    if not _DBFS.is_dir():
        raise DelticError(f"{address}: Databricks mounts its file system at {_DBFS}, and there is no such folder here")
    return _DBFS / rest.removeprefix("/")


def path_here(place: str | Path) -> Path:
    """Return the path of a file that is on this machine, given as a path or a `file:` or `dbfs:` address.

    Raises DelticError for other addresses, of which a Path would be a folder named `s3:`.
    """
    address = str(place)
    scheme = _SCHEME.match(address)
    path = local_path(address) if scheme is None or scheme[1].lower() in ("file", "dbfs") else None
    if path is None:
        raise DelticError(f"{address}: programs and files of rows have paths on this machine, and no other address")
    return path


def absolute(place: str | Path) -> str:
    """Return the address in a form that is valid in any working directory."""
    path = local_path(place)
    return str(place) if path is None else str(path.absolute())


def files_at(place: str | Path) -> Files:
    """Return the files of a directory on this machine, or in an object store: `s3://bucket/folder`.

    Raises StateError.
    """
    try:
        path = local_path(place)
    except DelticError as error:
        raise StateError(f"state {error}") from error
    if path is not None:
        return LocalFiles(path)
    from deltic.engine.files.remote import RemoteFiles

    return RemoteFiles.at(str(place))
