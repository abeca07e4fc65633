"""The function of `ovsdb`."""

from __future__ import annotations

from uuid import UUID

from deltic_ddlog.natives import native


@native("ovsdb::uuid2str")
def uuid2str(number: int) -> str:
    """The identifier with hyphens."""
    return str(UUID(int=number))
