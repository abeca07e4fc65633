"""A store of objects that fails at one of its calls, and the process with it where that is asked for."""

from __future__ import annotations

import errno
from contextlib import suppress

from tests.pipeline.durability.crashing import Killed

HOW = ("refused", "lost", "late", "later", "killed", "killed after")


class FaultyStore:
    """Passes calls on to `store`; call number `at` fails.

    `how`: "refused" does nothing, "lost" does it and loses the answer, "late" does it before the next call, and "later"
    after that, as puts that were slow; a store that is "killed", or so after it did it, is so to all later calls.
    """

    is_conditional = True

    def __init__(self, store, at=0, how="none"):
        self.store, self.at, self.how, self.calls, self.dead = store, at, how, 0, False
        self._late = None

    def _call(self, name, *args, **more):
        if self.dead:
            raise Killed
        self.calls += 1
        if self.how == "late":
            self._arrive()
        if self.calls != self.at:
            try:
                return getattr(self.store, name)(*args, **more)
            finally:
                self._arrive()
        if self.how in ("late", "later"):
            self._late = name, args, more
        elif self.how in ("lost", "killed after"):
            getattr(self.store, name)(*args, **more)
        if self.how.startswith("killed"):
            self.dead = True
            raise Killed
        raise OSError(errno.EIO, "503 Slow Down")

    def _arrive(self):
        if self._late is not None:
            (name, args, more), self._late = self._late, None
            with suppress(OSError):
                getattr(self.store, name)(*args, **more)

    def get(self, *args):
        return self._call("get", *args)

    def head(self, *args):
        return self._call("head", *args)

    def ranges(self, *args):
        return self._call("ranges", *args)

    def put(self, *args, **more):
        return self._call("put", *args, **more)

    def names(self, *args):
        return self._call("names", *args)

    def copy(self, *args):
        return self._call("copy", *args)

    def delete(self, *args):
        return self._call("delete", *args)

    def clear(self, *args):
        return self._call("clear", *args)
