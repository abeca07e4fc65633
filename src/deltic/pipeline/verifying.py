"""Verifies a directory of state, and repairs a damaged one.

All checksums are compared; on request, views are compared with a recomputation from the tables. A repair takes the
newest manifest from which the state can be restored, with its undamaged files. It computes the rest from the tables,
and replays the log up to the first damaged record. Then it writes all of it as a new checkpoint.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import with_weights
from deltic.engine.comparing import netted
from deltic.engine.files.files import Files
from deltic.engine.files.pieces import MappedFile, read_piece
from deltic.engine.image import Image
from deltic.errors import DelticError, StateError
from deltic.pipeline.durability import manifest
from deltic.pipeline.durability.log import LogReader, rows_of, segments
from deltic.pipeline.durability.manifest import CheckpointContents, Manifest
from deltic.pipeline.durability.state import StateDirectory
from deltic.pipeline.durability.status import status_of
from deltic.pipeline.options import Durability, grouped
from deltic.pipeline.restoring import restore
from deltic.pipeline.session import Pipeline


@dataclass
class VerificationReport:
    """What was checked, and what is damaged."""

    pieces: int = 0
    bytes: int = 0
    records: int = 0
    views: list[str] = field(default_factory=list)
    """The views that were compared."""
    forgotten: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The views that could not be compared, with the tables below them with forgotten rows."""
    wrong: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)


def verify(place: str | Path, full: bool = False, sample: int = 0) -> VerificationReport:
    """Compare all checksums, and all views (`full`) or some with a recomputation from the tables. Raises StateError."""
    result = VerificationReport()
    state = StateDirectory.open(place, Durability(readonly=True), is_whole=False)
    last = max((_check_manifest(state.files, number, result) for number in manifest.numbers(state.files)), default=0)
    last = max(last, _check_log(state.files, result).last)
    if last < state.noted:
        result.wrong.append(state.short_log_message(last))
    if not result.wrong and (full or sample):
        _compare(place, sample if not full else None, result)
    return result


def _check_manifest(files: Files, number: int, found: VerificationReport) -> int:
    """Check a manifest, and return its last record; 0 if it cannot be read."""
    try:
        made = manifest.read(files, number)
    except StateError as error:
        found.wrong.append(str(error))
        return 0
    for name in sorted(made.contents.files):
        found.wrong += [damage for damage in _damage(files, made, name, found) if damage not in found.wrong]
    return made.sequence


def _damage(files: Files, made: Manifest, name: str, found: VerificationReport) -> Iterator[str]:
    try:
        mapped = MappedFile(files, name)
    except StateError as error:
        yield str(error)
        return
    for place in made.contents.places:
        if place.file == name:
            found.pieces, found.bytes = found.pieces + 1, found.bytes + place.length
            try:
                read_piece(mapped, place)
            except StateError as error:
                yield str(error)


def _check_log(files: Files, found: VerificationReport) -> LogReader:
    """Check the log. Return its reader, which stands after the last undamaged record."""
    starts = segments(files)
    reader = LogReader(files, starts[0][0] - 1 if starts else 0, with_rows=True)
    try:
        for _ in reader.records():
            found.records += 1
    except StateError as error:
        found.wrong.append(str(error))
    return reader


def _compare(place: str | Path, sample: int | None, found: VerificationReport) -> None:
    """Compare stored views with a recomputation from the tables of the checkpoint, and the log."""
    state = StateDirectory.open(place, Durability(readonly=True))
    kept, computed = (_pipeline(state, alone) for alone in (False, True))
    engine = kept._epochs.engine
    found.forgotten = {view: tables for view in kept.views if (tables := engine.forgotten(view))}
    names = [view for view in kept.views if view not in found.forgotten]
    for name in names if sample is None else random.sample(names, min(sample, len(names))):
        one, other = (p._version().read(name, counted=True) for p in (kept, computed))
        found.views.append(name)
        if not _same(one, other):
            found.wrong.append(
                f"state {place}: view {name} has {one.num_rows:,} rows, and what the tables make of it is something "
                f"else, {other.num_rows:,} rows; `deltic verify {place} --full --repair` recomputes it"
            )


def _same(one: pa.Table, other: pa.Table) -> bool:
    """Return whether two tables with weights have the same rows, in any order."""
    negated = with_weights(other.drop_columns([WEIGHT]), -np.asarray(other.column(WEIGHT)))
    return not len(netted(pa.concat_tables([one, negated])))


def _pipeline(state: StateDirectory, tables_alone: bool) -> Pipeline:
    """Return a pipeline in memory with the state."""
    options = state.manifest.options if state.manifest is not None else {}
    pipeline = Pipeline(**grouped(options))
    state.go_on_from(state.manifest)
    restore(state, pipeline._evolving, tables_alone)
    return pipeline


def _moment(pipeline: Pipeline, state: StateDirectory) -> CheckpointContents:
    """Return the contents of a checkpoint of a pipeline in memory."""
    return pipeline._keeping.moment(state, pipeline._epochs)


def repair(place: str | Path, full: bool = False, sample: int = 0) -> VerificationReport:
    """Repair a state from its undamaged parts. StateError if too little is left."""
    result = verify(place, full, sample)
    are_views_wrong = bool(result.views) and bool(result.wrong)
    if not result.wrong:
        return result
    state = StateDirectory.open(place, Durability(), is_whole=False)
    try:
        _set_aside_log(state.files, result)
        numbers: Sequence[int | None] = [*manifest.numbers(state.files), None]
        for number in numbers:
            for tables_alone in (True,) if are_views_wrong else (False, True):
                pipeline = _attempt(state, number, tables_alone)
                if pipeline is not None:
                    _write(state, pipeline, number, tables_alone, result)
                    return result
        raise StateError(f"state {place}: it cannot be repaired: {result.wrong[0]}")
    finally:
        state.close()


def _set_aside_log(files: Files, found: VerificationReport) -> None:
    """Cut the log before the first damaged record. All its files from there on are moved aside."""
    log = VerificationReport()
    reader = _check_log(files, log)
    if not log.wrong:
        return
    for name in [name for first, name in segments(files) if first > reader.last or name == reader.name]:
        files.write(f"damaged/{name.replace('/', '-')}", [files.read(name)])
        if name == reader.name and reader.end:
            files.truncate(name, reader.end)
        else:
            files.remove(name)
    for name in rows_of(files, lambda number: number > reader.last):
        files.write(f"damaged/{name.replace('/', '-')}", [files.read(name)])
        files.remove(name)
    found.repaired.append(
        f"the log ends with record {reader.last:,} now; what came after it is lost, and its files are in damaged/"
    )


def _attempt(state: StateDirectory, number: int | None, tables_alone: bool) -> Pipeline | None:
    """Return the pipeline from a manifest and the log after it, if the needed parts are undamaged; else None."""
    try:
        state.go_on_from(None if number is None else manifest.read(state.files, number))
        if number is None and (not segments(state.files) or segments(state.files)[0][0] != 1):
            return None
        if not tables_alone and state.manifest is not None:
            for name in state.manifest.contents.files:
                if any(_damage(state.files, state.manifest, name, VerificationReport())):
                    return None
        pipeline = _pipeline(state, tables_alone)
        for piece in (_moment(pipeline, state).image or Image({})).pieces:
            piece.arrays()
        return pipeline
    except DelticError:
        return None


def _write(
    state: StateDirectory, pipeline: Pipeline, number: int | None, tables_alone: bool, found: VerificationReport
) -> None:
    """Write the pipeline as a new checkpoint, the only one."""
    state.begin()
    state.checkpoint(_moment(pipeline, state), compact=True)
    base = (
        "the log alone" if number is None else f"{manifest.name_of(number)}{' by its tables' if tables_alone else ''}"
    )
    found.repaired.append(f"a new checkpoint was made of {base}: epoch {pipeline.epoch:,}")
    engine = pipeline._epochs.engine
    for view, tables in {view: engine.forgotten(view) for view in pipeline.views if tables_alone}.items():
        if tables:
            found.repaired.append(f"view {view} has what is left of {', '.join(tables)}: earlier rows were forgotten")


def compact(place: str | Path) -> tuple[int, int]:
    """Rewrite a state in few files. Return the bytes of all files before and after. Raises StateError."""
    before = status_of(place).file_bytes
    state = StateDirectory.open(place, Durability())
    try:
        pipeline = _pipeline(state, tables_alone=False)
        state.begin()
        state.checkpoint(_moment(pipeline, state), compact=True)
    finally:
        state.close()
    return before, status_of(place).file_bytes
