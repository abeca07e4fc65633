"""Galen, from files to files by `deltic run`: bootstrap, ten rows of p deleted, the same ten put back.

`python benchmarks/galen.py` reads ../shared/data/galen.zip. `--check` compares the views after each epoch with
recomputation from the changed tables, row by row; it takes three bootstraps more.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import DATA, Watch, report

if TYPE_CHECKING:
    import pyarrow as pa

    import deltic

COLUMNS = {"p": "xz", "q": "xrz", "r": "yue", "c": "ywz", "u": "wrz", "s": "rq"}
TABLES = "".join(COLUMNS)
INPUTS = "".join(f'.input {name}(filename="{name}.txt", delimiter=",")\n' for name in TABLES)
PROGRAM = f"""\
.decl p(x: number, z: number)
.decl q(x: number, r: number, z: number)
.decl r(y: number, u: number, e: number)
.decl c(y: number, w: number, z: number)
.decl u(w: number, r: number, z: number)
.decl s(r: number, q: number)
{INPUTS}
p(x, z) :- p(x, y), p(y, z).
q(x, r, z) :- p(x, y), q(y, r, z).
p(x, z) :- p(y, w), u(w, r, z), q(x, r, y).
p(x, z) :- c(y, w, z), p(x, w), p(x, y).
q(x, k, z) :- q(x, r, z), s(r, k).
q(x, e, o) :- q(x, y, z), r(y, v, e), q(z, v, o).
.output p, q
"""
EXPECTED = {"p": 7_560_179, "q": 16_595_494}


def prepare(folder: Path) -> list[str]:
    """Unpack the data and write two epochs of changes; the ten rows."""
    with zipfile.ZipFile(DATA / "galen.zip") as archive:
        archive.extractall(folder / "facts")
    for nested in list((folder / "facts").rglob("*.txt")):
        shutil.move(nested, folder / "facts" / nested.name)
    (folder / "galen.dl").write_text(PROGRAM)
    rows = random.Random(1).sample((folder / "facts" / "p.txt").read_text().splitlines(), 10)
    for epoch, sign in (("1-delete", "-"), ("2-put-back", "+")):
        (folder / "changes" / epoch).mkdir(parents=True)
        (folder / "changes" / epoch / "p.txt").write_text("".join(f"{sign}{row}\n" for row in rows))
    return rows


def run(folder: Path, reader: str, strategy: str) -> None:
    """Run the job and report it."""
    command = [
        sys.executable,
        "-m",
        "deltic.cli.main",
        "run",
        str(folder / "galen.dl"),
        "--facts",
        str(folder / "facts"),
    ]
    command += ["--changes", str(folder / "changes"), "--out", str(folder / "out"), "--json"]
    command += ["--master", "local[*]"] if reader == "spark" else []
    command += ["--format", "parquet", "--strategy", strategy]
    watch = Watch(command)
    result = json.loads(watch.run())
    rows = [[e["name"], e["rows_in"], _changes(e), e["rows_visited"], f"{e['seconds']:.3f}"] for e in result["epochs"]]
    bootstrap = result["epochs"][0]
    sizes = {name: view["inserted"] for name, view in bootstrap["changed"].items()}
    assert sizes == EXPECTED, f"expected {EXPECTED} rows, got {sizes}"
    notes = f"whole command, files to Parquet files, by {reader}, --strategy {strategy}: {watch.seconds:.0f} s"
    notes += f", {watch.processor:.0f} s of processor time"
    notes += f"; peak resident memory of all its processes: {watch.peak / 2**30:.1f} GiB"
    header = ["epoch", "rows in", "changes", "visited", "seconds"]
    report(f"galen-{reader}-{strategy}", f"Galen by `deltic run`, {strategy}", header, rows, notes)


def _changes(epoch: dict[str, Any]) -> str:
    return " ".join(f"{name} +{c['inserted']} -{c['deleted']}" for name, c in sorted(epoch["changed"].items()))


def check(folder: Path, removed: list[str]) -> None:
    """Compare the maintained views with recomputation after each of the two epochs."""
    import pyarrow as pa
    import pyarrow.csv as csv

    unnamed = csv.ReadOptions(autogenerate_column_names=True)
    tables = {name: csv.read_csv(folder / "facts" / f"{name}.txt", read_options=unnamed) for name in TABLES}
    ten = pa.table([[int(row.split(",")[i]) for row in removed] for i in range(2)], names=["f0", "f1"])
    maintained = bootstrap(tables)
    whole = views(maintained)
    with maintained.transaction() as change:
        change.delete("p", ten.rename_columns(["x", "z"]))
    less = views(maintained)
    with maintained.transaction() as change:
        change.insert("p", ten.rename_columns(["x", "z"]))
    assert all(views(maintained)[name].equals(whole[name]) for name in EXPECTED), "put back, but not the same"
    del maintained
    rest = tables["p"].join(ten, keys=["f0", "f1"], join_type="left anti")
    recomputed = views(bootstrap({**tables, "p": rest}))
    assert all(less[name].equals(recomputed[name]) for name in EXPECTED), "deleted, but not as recomputed"
    print("the views equal recomputation after the deletion, and the first bootstrap after the rows were put back")


def bootstrap(tables: dict[str, pa.Table]) -> deltic.Pipeline:
    """A pipeline that holds these tables."""
    import deltic

    pipeline = deltic.Pipeline(transactions=deltic.Transactions(conflicts="normalize"))
    pipeline.datalog(PROGRAM)
    with pipeline.transaction() as change:
        for name, table in tables.items():
            change.insert(name, table.rename_columns(list(COLUMNS[name])))
    return pipeline


def views(pipeline: deltic.Pipeline) -> dict[str, pa.Table]:
    """The views' rows, in order."""
    tables = {name: pipeline[name].to_arrow() for name in EXPECTED}
    return {n: t.sort_by([(c, "ascending") for c in t.column_names]).combine_chunks() for n, t in tables.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", default="local", choices=["local", "spark"])
    parser.add_argument("--strategy", default="nested", choices=["nested", "elastic", "full"])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        removed = prepare(Path(name))
        if options.check:
            check(Path(name), removed)
        else:
            run(Path(name), options.reader, options.strategy)
