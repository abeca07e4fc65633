"""An engine against the reference, epoch by epoch: the changes of every view, every view and every table.

A run is a circuit and the contents of its tables after each epoch; the changes are the differences of the contents,
so that leaving out an epoch or a row always gives another run.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltic.algebra.zset import ZSet
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.pointwise import Row, Rows
from deltic.circuit.tables import WEIGHT
from deltic.engine.conflicts import Conflicts
from deltic.engine.engine import IncrementalEngine
from deltic.engine.protocol import Engine
from deltic.engine.reference import ReferenceEngine, from_arrow, to_arrow
from deltic.engine.result import EpochResult
from deltic.errors import ChangeError, EvaluationError
from tests.differential.circuits import sources_of

Contents = Mapping[str, frozenset[Row]]
MakeEngine = Callable[[Circuit], Engine]
Refusal = ChangeError | EvaluationError


@dataclass(frozen=True)
class Disagreement:
    """What an engine got wrong first."""

    epoch: int
    what: str
    expected: object
    actual: object

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {self.what}\n  expected {self.expected}\n  actual   {self.actual}"


def changes_between(old: Contents, new: Contents) -> dict[str, Rows]:
    """The changes of the tables that lead from one contents to the next."""
    names = sorted({*old, *new})
    return {n: ZSet.of(new.get(n, frozenset())) - ZSet.of(old.get(n, frozenset())) for n in names}


def first_disagreement(
    circuit: Circuit, run: Sequence[Contents], make: MakeEngine = IncrementalEngine
) -> Disagreement | None:
    """The first difference between an engine and the reference on a run; None when there is none."""
    changes = [changes_between(old, new) for old, new in itertools.pairwise([{}, *run])]
    return first_disagreement_on(circuit, [(change, "error") for change in changes], make)


def first_disagreement_on(
    circuit: Circuit, epochs: Sequence[tuple[Mapping[str, Rows], Conflicts]], make: MakeEngine = IncrementalEngine
) -> Disagreement | None:
    """The first difference between an engine and the reference on changes under a policy for conflicts.

    What the reference refuses the engine is to refuse too. Another exception of the engine is a
    disagreement; one of the reference is raised.
    """
    epoch = -1
    reference = ReferenceEngine(circuit)
    try:
        engine = make(circuit)
        for epoch, (changes, conflicts) in enumerate(epochs):
            batches = batches_of(circuit, changes)
            expected = _by_reference(reference, batches, conflicts)
            found = _by_engine(engine, batches, conflicts, is_aborted=(epoch + len(circuit.nodes)) % 2 == 0)
            difference = _compare_epoch(circuit, epoch, found, expected, engine, reference)
            if difference is not None:
                return difference
    except ReferenceFailed:
        raise
    except Exception:  # noqa: BLE001
        return Disagreement(epoch, "an exception", "none", traceback.format_exc())
    return None


class ReferenceFailed(Exception):
    """The reference itself could not apply an epoch: the run is at fault."""


def _by_reference(
    reference: ReferenceEngine, batches: Mapping[str, pa.Table], conflicts: Conflicts
) -> EpochResult | Refusal:
    try:
        return reference.apply(batches, conflicts)
    except (ChangeError, EvaluationError) as error:
        return error
    except Exception as failure:
        raise ReferenceFailed from failure


def _by_engine(
    engine: Engine, batches: Mapping[str, pa.Table], conflicts: Conflicts, is_aborted: bool
) -> EpochResult | Refusal:
    """What an engine makes of an epoch, which is prepared and aborted first where it `is_aborted`."""
    try:
        if is_aborted:
            with engine.prepare(batches, conflicts):
                pass
        return engine.apply(batches, conflicts)
    except (ChangeError, EvaluationError) as error:
        return error


def batches_of(circuit: Circuit, changes: Mapping[str, Rows]) -> dict[str, pa.Table]:
    """The changes as Arrow tables, without those of nothing."""
    schemas = {name: source.schema for name, source in sources_of(circuit).items()}
    return {name: to_arrow(delta, schemas[name]) for name, delta in changes.items() if delta}


def _compare_epoch(
    circuit: Circuit,
    epoch: int,
    found: EpochResult | Refusal,
    expected: EpochResult | Refusal,
    engine: Engine,
    reference: Engine,
) -> Disagreement | None:
    for what, actual, wanted in _observations(circuit, found, expected, engine, reference):
        if actual != wanted:
            return Disagreement(epoch, what, wanted, actual)
    return None


def _observations(
    circuit: Circuit,
    found: EpochResult | Refusal,
    expected: EpochResult | Refusal,
    engine: Engine,
    reference: Engine,
) -> Iterator[tuple[str, Any, Any]]:
    """What is to be equal after an epoch: a name, the engine's and the reference's value."""
    if not isinstance(found, EpochResult) or not isinstance(expected, EpochResult):
        yield "refused", _refusal(found), _refusal(expected)
    else:
        for name in sorted({*found.changes, *expected.changes}):
            yield f"changes of {name}", _consolidated(found, name), _changes(expected, name)
        yield "rows_in", found.rows_in, expected.rows_in
    for name in sorted(circuit.sinks):
        expected_rows = _rows(reference.read(name))
        yield f"rows of {name}", _rows(engine.read(name)), expected_rows
        weights = from_arrow(reference.read(name, counted=True))
        yield f"weights of {name}", from_arrow(engine.read(name, counted=True)), weights
        yield f"count of {name}", engine.count(name), reference.count(name)
    for name in sorted(sources_of(circuit)):
        yield f"rows of table {name}", _rows(engine.read(name, table=True)), _rows(reference.read(name, table=True))


def _refusal(result: EpochResult | Refusal) -> str:
    """Which table's change was refused, or that a row has no value; engines may name another row."""
    if isinstance(result, EpochResult):
        return "accepted"
    return str(result).split(":")[0] if isinstance(result, ChangeError) else "no value"


def _changes(result: EpochResult, name: str) -> Rows:
    return from_arrow(result.changes[name]) if name in result.changes else ZSet()


def _consolidated(result: EpochResult, name: str) -> Rows | str:
    """The changes of a view, or why they are no consolidated batch."""
    rows = _changes(result, name)
    if name in result.changes and result.changes[name].num_rows != len(rows):
        return f"a row twice or with weight zero, or no row, in {result.changes[name].to_pylist()}"
    return rows


def _rows(table: pa.Table) -> Rows:
    if WEIGHT in table.column_names:
        return from_arrow(table)
    weights = pa.array([1] * table.num_rows, pa.int64())
    return from_arrow(table.append_column(WEIGHT, weights)) if table.num_columns else ZSet({(): table.num_rows})
