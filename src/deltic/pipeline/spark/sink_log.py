"""The log of Spark's file sink: which files of a folder are complete, by micro-batch of a stream.

A batch writes its files in place, and then its entry of the log. So a folder may have files of a batch that is
incomplete, or that was killed and written again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

LOG = "_spark_metadata"
"""The folder of the log."""
_COMPACT = ".compact"


def files_of(entry: str | bytes) -> list[str]:
    """Return the names of the files that an entry adds, which are unique, without their folders."""
    found = [json.loads(line) for line in entry.splitlines()[1:]]
    return [file["path"].rpartition("/")[2] for file in found if file["action"] == "add"]


def complete_files(log: Mapping[str, str | bytes]) -> set[str]:
    """Return the names of all complete files. An entry `9.compact` has those of the batches before it as well."""
    numbers = {name: int(name.removesuffix(_COMPACT)) for name in log if name.removesuffix(_COMPACT).isdigit()}
    first = max((number for name, number in numbers.items() if name.endswith(_COMPACT)), default=-1)
    entries = [name for name, number in numbers.items() if number > first or name == f"{first}{_COMPACT}"]
    return {file for name in entries for file in files_of(log[name])}
