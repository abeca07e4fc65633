"""An object store in a dictionary, and counts of the bytes that move."""

from __future__ import annotations

import errno
from collections import Counter
from typing import Any

from deltic.engine.files.object_store import ABSENT


class Objects(dict):
    """Objects by their paths. `counts` has the bytes that were read and written, and copied without either."""

    is_conditional = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.counts: Counter[str] = Counter()

    def get(self, path):
        self.counts["read"] += len(self._at(path))
        return self._at(path), self.head(path)[1]

    def head(self, path):
        return len(self._at(path)), str(hash(self._at(path)))

    def ranges(self, path, starts, ends):
        found = [self._at(path)[start:end] for start, end in zip(starts, ends, strict=True)]
        self.counts["read"] += sum(map(len, found))
        return found

    def put(self, path, data, expected=None):
        there = self.head(path)[1] if path in self else ABSENT
        if expected not in (None, there):
            raise FileExistsError(errno.EEXIST, "another version", path)
        self.counts["written"] += len(data)
        self[path] = bytes(data)
        return self.head(path)[1]

    def names(self, folder):
        start = f"{folder}/" if folder else ""
        return sorted({name[len(start) :].partition("/")[0] for name in self if name.startswith(start)})

    def copy(self, path, new):
        self.counts["copied"] += len(self._at(path))
        self[new] = self._at(path)

    def delete(self, paths):
        for path in paths:
            self.pop(path, None)

    def clear(self, folder=None):
        for name in [name for name in self if folder is None or name.startswith(f"{folder}/")]:
            del self[name]

    def _at(self, path):
        try:
            return self[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "No such object", path) from None
