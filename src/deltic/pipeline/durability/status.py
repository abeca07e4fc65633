"""The status of a directory of state, from its manifest and its log, without an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
    relations, described = [], found.engine.get("shards") or [found.engine]
    for relation in {name: None for each in described for name in each["store"]["relations"]}:
        name, kind = named.get(relation, (relation, "hidden"))
        pieces = [(place.length, about) for place, about in found.contents.pieces if about["relation"] == relation]
        sizes, rows = Counter[str](), Counter[str]()
        for length, about in pieces:
            arrangement = f"{about['role']} {about['order']}"
            sizes[arrangement] += length
            rows[arrangement] += {"rows": about["net"], "counts": about["rows"]}.get(about["role"], 0)
        of_rows = [count for arrangement, count in rows.items() if arrangement.startswith("rows")]
        relations.append(KeptRelation(name, kind, max(of_rows or rows.values(), default=0), sizes.total(), dict(sizes)))
    order = ("table", "view", "hidden")
    return sorted(relations, key=lambda kept: (order.index(kept.kind), kept.name))
