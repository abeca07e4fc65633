"""The two problems of ../shared/data: programs, tables from files, expected sizes, random updates [ELA §5]."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import galen
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from harness import DATA

from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.resources import ResourceLimits

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Problem:
    """A program, its tables' columns, the delimiter of their files, and the sizes of its views."""

    name: str
    program: str
    columns: Mapping[str, tuple[str, ...]]
    delimiter: str
    expected: Mapping[str, int]

    def unpack(self, folder: Path) -> None:
        """The tables' files, right in the folder."""
        with zipfile.ZipFile(DATA / f"{self.name}.zip") as archive:
            archive.extractall(folder)
        for nested in list(folder.rglob("*.txt")):
            shutil.move(nested, folder / nested.name)

    def read(self, folder: Path) -> dict[str, pa.Table]:
        """The tables from their files."""
        parsing = csv.ParseOptions(delimiter=self.delimiter)
        return {
            name: csv.read_csv(folder / f"{name}.txt", csv.ReadOptions(column_names=columns), parsing)
            for name, columns in self.columns.items()
        }


_CRDT = (Path(__file__).parent / "crdt.dl").read_text(encoding="utf-8")
_CRDT_COLUMNS = {"insert": ("id", "node", "parent", "parent_node"), "remove": ("id", "node")}
_SIZES = {"nextSiblingAnc": 181_836, "skipBlank": 182_315, "nextVisible": 104_851, "result": 104_653}
CRDT = Problem(
    "crdt",
    _CRDT
    + "skipBlank(a, an, b, bn) :- nextElem(a, an, b, bn), hasValue(b, bn).\n"
    + "nextVisible(a, an, b, bn) :- hasValue(a, an), skipBlank(a, an, b, bn).\n",
    _CRDT_COLUMNS,
    " ",
    _SIZES,
)
# As first published: the same result from a skipBlank that leads to every element on the way.
PUBLISHED = Problem(
    "crdt",
    _CRDT
    + "skipBlank(a, an, b, bn) :- nextElem(a, an, b, bn).\n"
    + "nextVisible(a, an, b, bn) :- hasValue(a, an), skipBlank(a, an, b, bn), hasValue(b, bn).\n",
    _CRDT_COLUMNS,
    " ",
    _SIZES | {"skipBlank": 151_669_663},
)
# As first published, with a skipBlank that nobody reads: nextVisible asks for the rows that lead to what has a value.
ASKED = replace(
    PUBLISHED,
    program=PUBLISHED.program.replace("skipBlank, ", "", 1) + '.pragma "hidden" "skipBlank"\n',
    expected={name: size for name, size in _SIZES.items() if name != "skipBlank"},
)
GALEN = Problem(
    "galen",
    galen.PROGRAM,
    {"p": ("x", "z"), "q": ("x", "r", "z"), "r": ("y", "u", "e"), "c": ("y", "w", "z"), "u": ("w", "r", "z")}
    | {"s": ("r", "q")},
    ",",
    galen.EXPECTED,
)


def new_engine(
    program: str, strategy: str = "nested", policy: str = "auto", resources: ResourceLimits | None = None
) -> IncrementalEngine:
    """A local engine for a program, without rows."""
    circuit = lower(check([parse(program)]))
    return IncrementalEngine(
        circuit, Strategy(strategy), Refresh(Policy(policy)), resources=resources or ResourceLimits()
    )


def signed(tables: Tables, weight: int) -> dict[str, pa.Table]:
    """Changes that insert (1) or delete (-1) these rows."""
    field = pa.field(WEIGHT, pa.int64(), nullable=False)
    return {
        name: rows.append_column(field, pa.repeat(pa.scalar(weight, pa.int64()), len(rows)))
        for name, rows in tables.items()
    }


def sample(tables: Tables, size: int, seed: int) -> dict[str, pa.Table]:
    """Random rows, `size` in all, each row of each table as likely as any other."""
    ends = np.cumsum([len(rows) for rows in tables.values()])
    chosen = np.sort(np.random.default_rng([size, seed]).choice(ends[-1], size, replace=False))
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    starts = ends - [len(rows) for rows in tables.values()]
    named = zip(tables.items(), parts, starts, strict=True)
    return {name: rows.take(pa.array(part - start)) for (name, rows), part, start in named if len(part)}


def iterations(engine: IncrementalEngine) -> dict[str, int]:
    """The greatest iteration of a row of each recursive relation."""
    (store,) = engine.executor.stores
    states = {name: store.states[relation] for name, relation in engine.program.sinks.items()}
    found = {name: max(run.max_time for run in state.contents.runs) for name, state in states.items()}
    return {name: greatest for name, greatest in found.items() if greatest > 0}
