"""The lease of one writer below a folder of an object store: an object that the writer keeps renewing.

The holder of the lease puts the object again every `BEAT` seconds, each time expecting the version of its last put.
Another process that wants the lease watches the object. If it has not changed for `EXPIRY` seconds, the holder is
considered dead, and the same conditional put takes the lease over. No clocks are compared. A process that was suspended
and resumes finds another version, and gives up. Until then it may believe that it holds the lease, but the log keeps it
out: records are only put where there is none, and the new holder has taken the next number.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from deltic.engine.files.files import ONE_WRITER, holder, myself
from deltic.engine.files.object_store import ABSENT, ObjectStore, Version
from deltic.errors import StateError

BEAT, EXPIRY = 10.0, 30.0
"""The seconds after which a lease is renewed, and the seconds without renewal after which it is taken over."""
_HELD = set[str]()
"""The leases that this process holds."""


class Lease:
    """A held lease; `took_over` says whether its previous holder may not know that it lost it."""

    def __init__(self, store: ObjectStore, path: str, place: str, version: Version, took_over: bool) -> None:
        self._store, self._path, self._place, self._version = store, path, place, version
        self.writer, self.took_over = secrets.token_hex(8), took_over
        self._lost = ""
        self._renewed = _now()
        self._lock, self._released = threading.Lock(), threading.Event()

    @classmethod
    def acquired(cls, store: ObjectStore, path: str, place: str) -> Lease:
        """Acquire the lease once no other process has it. StateError if one has; OSError if the store fails."""
        if not store.is_conditional:
            raise StateError(
                f"state {place}: its store has no conditional put, so that two writers could not be kept apart; keep "
                "the state in a directory, or in a store of Amazon, Google or Azure. Shards may stay there"
            )
        version, took_over = _free(store, path, place)
        lease = cls(store, path, place, version, took_over)
        with lease._lock:
            lease._renew()
        if lease._lost:
            raise StateError(f"state {place}: {lease._lost}")
        lease._check_store()
        _HELD.add(lease.writer)
        threading.Thread(target=lease._beat, name="deltic lease", daemon=True).start()
        return lease

    def _check_store(self) -> None:
        """Raise StateError if the store ignores the expected version of a put."""
        try:
            self._store.put(self._path, b"{}", expected=ABSENT)
        except FileExistsError:
            return
        raise StateError(
            f"state {self._place}: its store ignores the conditions of conditional puts, so that two writers could not "
            "be kept apart; keep the state elsewhere. Shards may stay there"
        )

    def check(self, surely: bool = False) -> None:
        """Raise StateError if another process has taken the lease over.

        The store is asked if the last renewal was long ago, or if `surely` is set.
        """
        if not self._lost and (surely or _now() - self._renewed > EXPIRY / 2):
            with self._lock:
                self._renew()
        if self._lost:
            raise StateError(f"state {self._place}: {self._lost}; nothing was changed. Open the state again")

    def release(self) -> None:
        """Release the lease at once. If the store fails, others get it after its expiry."""
        with self._lock:
            self._released.set()
            if not self._lost:
                with suppress(OSError):
                    self._put({"released": True, "took_over": self.took_over})
        _HELD.discard(self.writer)

    def _beat(self) -> None:
        while not self._released.wait(BEAT) and not self._lost:
            with self._lock:
                if not self._released.is_set():
                    try:
                        self._renew()
                    except OSError:
                        continue  # it is tried again, and before the next record

    def _renew(self) -> None:
        self._put({**myself(), "id": self.writer, "beat": secrets.token_hex(4)})

    def _put(self, lease: dict[str, Any]) -> None:
        """Put the object again, or record that another one is there."""
        data = json.dumps(lease).encode()
        try:
            self._version = self._store.put(self._path, data, expected=self._version)
        except FileExistsError:
            try:
                there, version = _at(self._store, self._path)
            except FileNotFoundError:
                self._lost = f"{self._path}, its lease, was deleted while this process had it open"
                return
            if there != lease and there.get("id") != self.writer:
                self._lost = f"{holder(json.dumps(there))}, and took it over from this process"
                return
            self._version = version  # the answer to a former put was lost
        self._renewed = _now()


def _free(store: ObjectStore, path: str, place: str) -> tuple[Version, bool]:
    """Return the version to expect when the lease is taken, and whether its previous holder may still write."""
    try:
        there, version = _at(store, path)
    except FileNotFoundError:
        return ABSENT, False
    if "released" in there:
        return version, bool(there["took_over"])
    if there.get("id") in _HELD:
        raise StateError(f"state {place}: {holder(json.dumps(there))}; {ONE_WRITER}")
    if not _is_dead(there):
        _watch(store, path, place, version)
    return version, True


def _watch(store: ObjectStore, path: str, place: str, version: Version) -> None:
    """Return when the object has not changed for so long that its holder is dead. StateError if it is alive."""
    end = _now() + EXPIRY
    while (left := end - _now()) > 0:
        time.sleep(min(left, BEAT / 5))
        there, now = _at(store, path)
        if now != version:
            if "released" in there:
                raise StateError(f"state {place}: another process had it open for writing until now; open it again")
            raise StateError(f"state {place}: {holder(json.dumps(there))}; {ONE_WRITER}")


def _is_dead(there: dict[str, Any]) -> bool:
    """Return whether a holder on this machine has certainly ended: its process is gone, or this one has its number."""
    if there.get("host") != socket.gethostname() or "pid" not in there:
        return False
    if there["pid"] == os.getpid():
        return True
    try:
        os.kill(there["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _at(store: ObjectStore, path: str) -> tuple[dict[str, Any], Version]:
    data, version = store.get(path)
    try:
        there = json.loads(bytes(data))
    except ValueError:
        there = {}
    return there if isinstance(there, dict) else {}, version


def _now() -> float:
    """Return seconds that also pass while the machine sleeps, if the system supports it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
