"""The interface of object stores, and its two implementations: obstore, and fsspec for other file systems.

Objects are whole or absent, are never renamed, and reads return the last write. A conditional put keeps two writers
apart. Not all file systems of fsspec have one, so they can hold shards, but no state.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from deltic.engine.files.files import Buffer
from deltic.errors import DelticError
from deltic.extras import required
from deltic.passwords import cause, redacted, redacted_reason

if TYPE_CHECKING:
    import obstore.store

Version = Any
"""The version of an object's content in the store's form: an ETag, a generation. Only the store compares versions."""
ABSENT: Version = "absent"
"""The version of an absent object."""
SCHEMES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")
"""The schemes of object stores that obstore opens."""
TIMEOUT = timedelta(seconds=60)
"""The most time of one request, and of its retries after errors of the server or the network."""


class ObjectStore(Protocol):
    """Objects by path. Methods raise OSError, and FileNotFoundError for an absent object."""

    is_conditional: bool
    """Whether only one of two puts that expect the same version succeeds."""

    def get(self, path: str) -> tuple[Buffer, Version]:
        """Return the content of an object, and its version."""

    def head(self, path: str) -> tuple[int, Version]:
        """Return the size of an object in bytes, and its version."""

    def ranges(self, path: str, starts: Sequence[int], ends: Sequence[int]) -> Sequence[Buffer]:
        """Return the bytes from each start up to its end."""

    def put(self, path: str, data: bytes, expected: Version | None = None) -> Version:
        """Write a whole object. FileExistsError if its version is not the `expected` one."""

    def names(self, folder: str) -> list[str]:
        """Return the last parts of the paths of objects and folders directly below a folder."""

    def copy(self, path: str, new: str) -> None:
        """Copy an object within the store."""

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects, some of which may be absent."""

    def clear(self, folder: str) -> None:
        """Delete all objects below a folder."""


class Obstore:
    """A bucket or container of Amazon, Google or Azure, or of a compatible store."""

    is_conditional = True

    def __init__(self, store: obstore.store.ObjectStore) -> None:
        import obstore

        self._obstore, self._store = obstore, store

    def get(self, path: str) -> tuple[Buffer, Version]:
        with self._errors(path):
            result = self._obstore.get(self._store, path)
            return result.bytes(), _version(result.meta)

    def head(self, path: str) -> tuple[int, Version]:
        with self._errors(path):
            meta = self._obstore.head(self._store, path)
            return meta["size"], _version(meta)

    def ranges(self, path: str, starts: Sequence[int], ends: Sequence[int]) -> Sequence[Buffer]:
        with self._errors(path):
            return self._obstore.get_ranges(self._store, path, starts=starts, ends=ends)

    def put(self, path: str, data: bytes, expected: Version | None = None) -> Version:
        mode: Any = "overwrite" if expected is None else "create" if expected == ABSENT else expected
        with self._errors(path):
            try:
                return _version(self._obstore.put(self._store, path, data, mode=mode))
            except FileNotFoundError:
                raise FileExistsError(errno.EEXIST, "it has another version than was expected", path) from None

    def names(self, folder: str) -> list[str]:
        with self._errors(folder):
            result = self._obstore.list_with_delimiter(self._store, folder)
        return _last_parts([*(meta["path"] for meta in result["objects"]), *result["common_prefixes"]])

    def copy(self, path: str, new: str) -> None:
        with self._errors(path):
            self._obstore.copy(self._store, path, new)

    def delete(self, paths: Sequence[str]) -> None:
        with self._errors(paths[0] if paths else ""):
            try:
                self._obstore.delete(self._store, paths)
            except FileNotFoundError:
                if len(paths) > 1:
                    for path in paths:
                        self.delete([path])

    def clear(self, folder: str) -> None:
        with self._errors(folder):
            for chunk in self._obstore.list(self._store, folder):
                self.delete([meta["path"] for meta in chunk])

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        """Convert obstore's errors to OSError."""
        exceptions = self._obstore.exceptions
        try:
            yield
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            raise FileExistsError(errno.EEXIST, "it has another version than was expected", path) from None
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "no such object", path) from None
        except (exceptions.BaseError, ValueError) as error:
            raise OSError(errno.EIO, first_lines(str(error)), redacted(path)) from None


def _version(meta: Any) -> Version:
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name) is not None}


def first_lines(text: str) -> str:
    """Return a library's message about a request, without the debugging output that follows."""
    return redacted_reason(text.partition("\n\nDebug source")[0].strip())


class Fsspec:
    """A file system of fsspec, such as Hadoop's by pyarrow."""

    is_conditional = False

    def __init__(self, system: Any) -> None:
        self._system = system
        # fsspec opens pyarrow's files, such as Hadoop's, as streams at position 0, and then asks for the position.
        self._options = {"seekable": True} if type(system).__module__.endswith(".arrow") else {}

    def get(self, path: str) -> tuple[Buffer, Version]:
        with os_errors(path):
            return self._system.cat_file(path), self.head(path)[1]

    def head(self, path: str) -> tuple[int, Version]:
        with os_errors(path):
            info = self._system.info(path)
        return int(info["size"]), str(sorted(info.items(), key=str))

    def ranges(self, path: str, starts: Sequence[int], ends: Sequence[int]) -> Sequence[Buffer]:
        with os_errors(path):
            result: Sequence[Buffer] = self._system.cat_ranges(
                [path] * len(starts), list(starts), list(ends), on_error="raise", **self._options
            )
        return result

    def put(self, path: str, data: bytes, expected: Version | None = None) -> Version:
        if expected is not None:
            raise OSError(errno.ENOTSUP, "there is no conditional put", path)
        with os_errors(path):
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(path, data)
        return None

    def names(self, folder: str) -> list[str]:
        try:
            with os_errors(folder):
                result = self._system.ls(folder, detail=False, refresh=True)
        except FileNotFoundError:
            return []
        return _last_parts(name for name in result if name.strip("/") != folder.strip("/"))

    def copy(self, path: str, new: str) -> None:
        with os_errors(path):
            self._system.makedirs(new.rpartition("/")[0], exist_ok=True)
            self._system.cp_file(path, new)

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            with os_errors(path):
                if self._system.exists(path):
                    self._system.rm_file(path)

    def clear(self, folder: str) -> None:
        with os_errors(folder):
            self._system.rm(folder, recursive=True)


def _last_parts(paths: Iterable[str]) -> list[str]:
    return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)


def object_store(address: str) -> tuple[ObjectStore, str]:
    """Return the store of an address such as `s3://bucket/folder`, and the path in it. Raises DelticError.

    Keys and endpoints come from the environment, such as `AWS_ACCESS_KEY_ID` and `AWS_ENDPOINT_URL`. If boto3 is
    installed, those of Amazon also come from its profiles.
    """
    scheme, _, rest = address.partition("://")
    if scheme.lower() in SCHEMES:
        bucket, _, path = rest.partition("/")
        return _bucket(f"{scheme.lower()}://{bucket}"), path.strip("/")
    system, root = file_system(address)
    return _of_system(system), root.rstrip("/")


@lru_cache
def _of_system(system: Any) -> ObjectStore:
    return Fsspec(system)


@lru_cache
def _bucket(url: str) -> ObjectStore:
    store = required("obstore.store", f"{url}: an object store")
    try:
        return Obstore(store.from_url(url, **_options(url)))
    except (ValueError, OSError, store_errors()) as error:
        raise DelticError(f"{url}: {first_lines(str(error))}") from cause(error)


def store_errors() -> type[Exception]:
    """Return the base class of obstore's errors."""
    result: type[Exception] = required("obstore.exceptions", "an object store").BaseError
    return result


def _options(url: str) -> dict[str, Any]:
    plain = any(os.environ.get(name, "").lower() in ("1", "true") for name in ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP"))
    options: dict[str, Any] = {
        "client_options": {"timeout": TIMEOUT, "connect_timeout": timedelta(seconds=10), "allow_http": plain},
        "retry_config": {"max_retries": 10, "retry_timeout": TIMEOUT},
    }
    if url.startswith("s3") and (provider := _boto3()) is not None:
        options["credential_provider"] = provider
    return options


def _boto3() -> Any | None:
    """Return Amazon's keys as boto3 finds them; None if it is not installed, or finds none."""
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return Boto3CredentialProvider()
    except (ImportError, ValueError):
        return None


def file_system(address: str) -> tuple[Any, str]:
    """Return fsspec's file system for an address such as `s3://bucket/folder`, and the path. Raises DelticError."""
    url_to_fs = required("fsspec.core", f"{address}: a place that is no directory of this machine").url_to_fs
    scheme, _, rest = address.partition("://")
    try:
        if scheme.lower() in SCHEMES:
            store = required("obstore.fsspec", f"{address}: an object store")
            return store.FsspecStore(scheme.lower(), **_options(address)), rest
        system, root = url_to_fs(address)
        return system, root
    except (ImportError, ValueError, OSError) as error:
        raise DelticError(f"{address}: {redacted_reason(str(error))}") from cause(error)


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Convert the errors of file system packages to OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        reason = redacted_reason(f"{type(error).__name__}: {error}")
        cause(error)
        raise OSError(errno.EIO, reason, redacted(path)) from error
