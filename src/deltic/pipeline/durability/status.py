"""The status of a directory of state, from its manifest and its log, without an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltic.engine.files.pieces import PiecePlace
from deltic.engine.image import Json
from deltic.pipeline.durability import log, manifest
from deltic.pipeline.durability.manifest import Manifest
from deltic.pipeline.durability.state import StateDirectory
from deltic.pipeline.options import Durability


@dataclass(frozen=True)
class KeptRelation:
    """What a checkpoint stores of a table, a view, or a hidden relation."""

    name: str
    kind: str
    """"table", "view" or "hidden": needed by others."""
    rows: int
    """Its rows; if only derivation counts are stored, an estimate: removed rows count until runs merge."""
    bytes: int
    arrangements: Mapping[str, int]
    """The bytes of each arrangement, by its role and sort columns."""


@dataclass(frozen=True)
class Status:
    """The contents of a directory."""

    place: str
    epoch: int
    token: str
    positions: Mapping[str, Json]
    checkpoint: Mapping[str, Json] | None
    """The newest checkpoint: its number, epoch and time; None before the first."""
    retained: list[int]
    """The epochs of all existing checkpoints, the newest first."""
    log_records: int
    log_bytes: int
    relations: list[KeptRelation]
    text_bytes: int
    """The bytes of texts and other interned values."""
    run_bytes: int
    """The bytes of run files."""
    used_bytes: int
    """The bytes of run files that some checkpoint needs. The rest is removed later, once it is most of a file."""
    file_bytes: int
    """The bytes of all files."""


def status_of(place: str | Path) -> Status:
    """Return the status of a directory. Raises StateError. It changes nothing, and a writer may be active."""
    state = StateDirectory.open(place, Durability(readonly=True))
    files, result = state.files, state.manifest
    epoch, token, records = (result.epoch, result.token, 0) if result else (0, "", 0)
    for record in state.records():
        epoch, records = record.epoch, records + 1
        token = record.token if record.tables is not None else token
    retained = [manifest.read(files, number) for number in manifest.numbers(files)]
    used = {place for made in retained for place in made.contents.places}
    folders = manifest.RUNS, log.FOLDER, log.ROWS, manifest.FOLDER
    every = [name for folder in ("", *folders) for name in files.names(folder)]
    return Status(
        files.place,
        epoch,
        token,
        dict(state.positions),
        {"number": result.number, "epoch": result.epoch, "written": result.written} if result else None,
        [made.epoch for made in retained],
        records,
        state.log_bytes,
        _relations(result) if result else [],
        sum(s.place.length for stretches in result.contents.growing.values() for s in stretches) if result else 0,
        sum(files.size(name) for name in files.names(manifest.RUNS)),
        sum(place.length for place in used),
        sum(files.size(name) for name in every if name not in folders),
    )


def _relations(found: Manifest) -> list[KeptRelation]:
    if found.engine is None:
        return []
    named: dict[str, tuple[str, str]] = {relation: (view, "view") for view, relation in found.engine["views"].items()}
    named |= {relation: (table, "table") for table, relation in found.engine["tables"].items()}
    sizes, rows, start = dict[str, Counter[str]](), dict[str, Counter[str]](), 0
    for each in found.engine.get("shards") or [found.engine]:
        pieces = found.contents.pieces[start:]
        start += each.get("pieces", 0)
        for relation, entry in each["store"]["relations"].items():
            known = sizes.setdefault(relation, Counter()), rows.setdefault(relation, Counter())
            _count(entry["arrangements"], pieces, *known)
    relations = []
    for relation, of_each in sizes.items():
        name, kind = named.get(relation, (relation, "hidden"))
        of_rows = [count for arrangement, count in rows[relation].items() if arrangement.startswith("rows")]
        most = max(of_rows or rows[relation].values(), default=0)
        relations.append(KeptRelation(name, kind, most, of_each.total(), dict(of_each)))
    order = ("table", "view", "hidden")
    return sorted(relations, key=lambda kept: (order.index(kept.kind), kept.name))


def _count(
    arrangements: Any, pieces: Sequence[tuple[PiecePlace, Any]], sizes: Counter[str], rows: Counter[str]
) -> None:
    """Add the bytes and rows of a relation's arrangements in a store.

    Their runs are numbers of pieces. Arrangements share pieces, also with other relations: each counts once here.
    """
    counted = set[int]()
    for each in arrangements:
        name = f"{each['role']} {each['order']}"
        for number, is_bare in each["runs"]:
            place, about = pieces[number]
            rows[name] += {"rows": about["rows" if is_bare else "net"], "counts": about["rows"]}.get(each["role"], 0)
            if number not in counted:
                sizes[name] += place.length
            counted.add(number)
