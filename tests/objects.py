"""An object store in a dictionary: those operations of fsspec that states use, and counts of the bytes that move."""

from __future__ import annotations

from collections import Counter
from typing import Any


class Objects(dict):
    """Objects by their paths. `counts` has the bytes that were read and written, and copied without either."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.counts: Counter[str] = Counter()

    def ls(self, path, detail, refresh):
        found = {f"{path}/{name[len(path) + 1 :].partition('/')[0]}" for name in self if name.startswith(f"{path}/")}
        if not found:
            raise FileNotFoundError(path)
        return sorted(found)

    def info(self, path):
        return {"name": path, "size": len(self._at(path)), "ETag": str(hash(self._at(path)))}

    def cat_file(self, path, start=None, end=None):
        found = self._at(path)[start:end]
        self.counts["read"] += len(found)
        return found

    def cat_ranges(self, paths, starts, ends, on_error):
        assert on_error == "raise"
        return [self.cat_file(path, start, end) for path, start, end in zip(paths, starts, ends, strict=True)]

    def pipe_file(self, path, data, mode="overwrite"):
        if mode == "create" and path in self:
            raise FileExistsError(path)
        self.counts["written"] += len(data)
        self[path] = bytes(data)

    def cp_file(self, path, new):
        self.counts["copied"] += len(self._at(path))
        self[new] = self._at(path)

    def makedirs(self, path, exist_ok):
        assert exist_ok

    def exists(self, path):
        return path in self

    def rm_file(self, path):
        del self[path]

    def rm(self, path, recursive):
        for name in [name for name in self if name.startswith(f"{path}/")]:
            del self[name]

    def _at(self, path):
        try:
            return self[path]
        except KeyError:
            raise FileNotFoundError(2, "No such object", path) from None
