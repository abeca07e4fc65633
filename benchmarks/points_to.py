"""A points-to analysis of generated programs, in Doop's place [ELA §5]: fields, and calls by the receiver's class.

Methods have variables, among which objects are assigned, stored in fields and loaded; what a call runs depends on the
classes of the objects that its receiver may point to, and so does what its arguments and its result may point to: the
call graph and the points-to sets are one recursion of seven rules. A class has methods for some signatures, and the
others from the class that it extends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from problems import Problem

COLUMNS = {
    "new": ("v", "h"),
    "assign": ("v", "w"),
    "load": ("v", "b", "f"),
    "store": ("b", "f", "w"),
    "call": ("i", "b", "s"),
    "argument": ("i", "n", "w"),
    "result": ("i", "v"),
    "formal": ("m", "n", "v"),
    "returns": ("m", "w"),
    "class": ("h", "c"),
    "method": ("c", "s", "m"),
}
PROGRAM = (
    "".join(
        f".decl {name}({', '.join(f'{column}: number' for column in columns)})\n.input {name}\n"
        for name, columns in COLUMNS.items()
    )
    + """\
.decl points(v: number, h: number)
.decl field(g: number, f: number, h: number)
.decl runs(i: number, m: number)
.output points
.output field
.output runs
points(v, h) :- new(v, h).
points(v, h) :- assign(v, w), points(w, h).
field(g, f, h) :- store(b, f, w), points(b, g), points(w, h).
points(v, h) :- load(v, b, f), points(b, g), field(g, f, h).
runs(i, m) :- call(i, b, s), points(b, h), class(h, c), method(c, s, m).
points(v, h) :- runs(i, m), formal(m, n, v), argument(i, n, w), points(w, h).
points(v, h) :- runs(i, m), returns(m, w), result(i, v), points(w, h).
"""
)
VARIABLES = 10  # of a method: the receiver, an argument, the result, and others
CLASSES = 8  # methods to a class
FAMILY = 5  # classes that share signatures
ASSIGNED, CALLED = 5, 3  # assignments and calls in a method


@dataclass(frozen=True)
class Generated(Problem):
    """The analysis of a generated program of so many methods."""

    methods: int = 0

    def unpack(self, folder: Path) -> None:
        for name, rows in generate(self.methods).items():
            options = csv.WriteOptions(include_header=False, delimiter=self.delimiter)
            csv.write_csv(pa.table(rows, names=list(COLUMNS[name])), folder / f"{name}.txt", options)


def points_to(methods: int) -> Generated:
    """The analysis of a program of so many methods; the sizes of its views are those that it has at first."""
    return Generated("points-to", PROGRAM, COLUMNS, ",", {}, methods)


def generate(methods: int, seed: int = 0) -> Mapping[str, list[np.ndarray]]:
    """The columns of each table for a program of so many methods, each row once."""
    return {name: list(np.unique(np.stack(c), axis=1)) for name, c in _rows(methods, seed).items()}


def _rows(methods: int, seed: int) -> Mapping[str, list[np.ndarray]]:
    rng = np.random.default_rng([methods, seed])
    all_methods = np.arange(methods)
    classes = methods // CLASSES

    def own(count: int) -> tuple[np.ndarray, np.ndarray]:
        """So many places in each method, and a variable of it for each."""
        at = np.repeat(all_methods, count)
        return at, at * VARIABLES + rng.integers(0, VARIABLES, len(at))

    made, objects = own(2)
    called, receivers = own(CALLED)
    calls = np.arange(len(called))
    sites = np.arange(len(made))
    of_class = rng.integers(0, classes, len(sites))
    # A method is of one class, for one of the signatures of its family; a class has the others from its family's first.
    definer, signature = all_methods % classes, all_methods // classes
    family = definer // FAMILY
    methods_of = _dispatch(definer, family * CLASSES + signature, classes)
    wanted = rng.integers(0, classes // FAMILY, len(calls)) * CLASSES + rng.integers(0, CLASSES, len(calls))
    # Most calls are of what the method's own family has.
    near = rng.random(len(calls)) < 0.8
    wanted = np.where(near, family[called] * CLASSES + rng.integers(0, CLASSES, len(calls)), wanted)
    near_class = rng.random(len(sites)) < 0.8
    of_class = np.where(near_class, family[made] * FAMILY + rng.integers(0, FAMILY, len(sites)), of_class)
    return {
        "new": [objects, sites],
        "assign": [own(ASSIGNED)[1], own(ASSIGNED)[1]],
        "load": [own(1)[1], own(1)[1], rng.integers(0, 50, methods)],
        "store": [own(1)[1], rng.integers(0, 50, methods), own(1)[1]],
        "call": [calls, receivers, wanted],
        "argument": [np.tile(calls, 2), np.repeat([0, 1], len(calls)), np.concatenate([receivers, own(CALLED)[1]])],
        "result": [calls, own(CALLED)[1]],
        "formal": [np.tile(all_methods, 2), np.repeat([0, 1], methods), _places(all_methods)],
        "returns": [all_methods, all_methods * VARIABLES + 2],
        "class": [sites, of_class],
        "method": methods_of,
    }


def _places(all_methods: np.ndarray) -> np.ndarray:
    """The variables of receivers, then those of arguments."""
    return np.concatenate([all_methods * VARIABLES, all_methods * VARIABLES + 1])


def _dispatch(definer: np.ndarray, signature: np.ndarray, classes: int) -> list[np.ndarray]:
    """Which method each class has for each signature: half of the time its own, else that of its family's first."""
    table = dict(zip(zip(definer.tolist(), signature.tolist(), strict=True), range(len(definer)), strict=True))
    rows = []
    for (owner, name), method in table.items():
        first = (owner // FAMILY * FAMILY, name)
        rows.append((owner, name, method if (owner + name) % 2 else table.get(first, method)))
    found = np.array(rows)
    return [found[:, 0], found[:, 1], found[:, 2]]
