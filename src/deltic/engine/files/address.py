"""The files at an address: of this machine, or of another file system."""

from __future__ import annotations

from pathlib import Path

from deltic.engine.files.files import Files, LocalFiles

_HERE = "file://"


def files_at(place: str | Path) -> Files:
    """The files of a directory of this machine, or of a file system of fsspec: `s3://bucket/folder`.

    Raises StateError.
    """
    address = str(place)
    if "://" in address and not address.startswith(_HERE):
        from deltic.engine.files.remote import RemoteFiles  # needs fsspec

        return RemoteFiles.at(address)
    return LocalFiles(Path(address.removeprefix(_HERE)))
