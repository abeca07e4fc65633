"""Idempotency keys: a change that is sent again with the same key is not applied again.

They are positions of the epochs that applied the changes, so that key and change are one step, also in a crash. The
positions are slots, each with the keys of one epoch; later epochs overwrite them, so the most recent keys are
remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltic.errors import ChangeError

_SLOT = "request keys "
_LONGEST = 200


@dataclass(frozen=True)
class AppliedRequest:
    """A change that was applied with a key: its epoch, and a digest of what it was."""

    epoch: int
    digest: str


class RequestKeys:
    """The keys of the last epochs, one epoch for each slot."""

    def __init__(self, positions: Mapping[str, Any], slots: int) -> None:
        self._slots = slots
        self._by_slot: dict[str, tuple[str, ...]] = {}
        self._applied: dict[str, AppliedRequest] = {}
        held = sorted((p for name, p in positions.items() if name.startswith(_SLOT)), key=lambda p: int(p["epoch"]))
        for position in held:
            self.remember(position["epoch"], position["keys"])

    def applied(self, key: str, digest: str) -> AppliedRequest | None:
        """Return the change that was applied with a key, if remembered; raises ChangeError where it was another."""
        result = self._applied.get(key)
        if result is not None and result.digest != digest:
            raise ChangeError(
                f"the idempotency key {key!r} was used for another change, in epoch {result.epoch}; nothing was "
                "changed. Give each change a key of its own, and the same one when it is sent again"
            )
        return result

    def positions(self, epoch: int, keys: Mapping[str, str]) -> dict[str, Any]:
        """Return the position of an epoch that applies changes with these keys and digests."""
        return {self._slot(epoch): {"epoch": epoch, "keys": dict(keys)}} if keys else {}

    def remember(self, epoch: int, keys: Mapping[str, str]) -> None:
        """Record an epoch that has applied changes with these keys and digests."""
        if keys:
            for old in self._by_slot.pop(self._slot(epoch), ()):
                self._applied.pop(old, None)
            self._by_slot[self._slot(epoch)] = tuple(keys)
            self._applied |= {key: AppliedRequest(epoch, digest) for key, digest in keys.items()}

    def _slot(self, epoch: int) -> str:
        return f"{_SLOT}{epoch % self._slots}"


def check_key(key: str) -> None:
    """Raise ChangeError for a key that is too long."""
    if len(key) > _LONGEST:
        raise ChangeError(f"an idempotency key has at most {_LONGEST} characters, found {len(key):,}")
