"""Stars and snowflakes: the rows that 30 views of joins under conditions visit, for their load and for updates.

`python benchmarks/joins.py [--before DIR] [--rows 20000]` runs this checkout and another one over three schemas: visits
to hospitals, readings of sensors, and loans of libraries. Values are skewed, and some are NULL. Visited rows depend on
the data and the plans alone, not on the machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from epochs import epoch
from harness import report, side_by_side

import deltic

HERE = Path(__file__).parents[1]
EPOCHS = 3
NOTES = """\
Rows and index entries visited. load: all tables in one transaction. facts: {part} of the rows of the large table are
deleted, and inserted again; others: three rows of each other table. Sums over {epochs} deletions and as many
insertions. Below each schema the sums over its views, and the geometric means of quotients where two are compared."""
PART = 0.01

# The large table of each schema comes first. A column: its values, and how skewed they are, or "key".
SCHEMAS: Mapping[str, Mapping[str, Mapping[str, tuple[str, float] | str]]] = {
    "hospital": {
        "visit": {
            "visit": "key",
            "patient": ("patient", 1),
            "ward": ("ward", 2),
            "doctor": ("doctor", 2),
            "disease": ("disease", 3),
            "day": ("730", 1),
            "cost": ("5000", 3),
        },
        "patient": {"patient": "key", "town": ("town", 2), "born": ("90", 1), "blood": ("8", 2)},
        "town": {"town": "key", "region": ("12", 1), "people": ("1000", 3)},
        "ward": {"ward": "key", "house": ("house", 1), "kind": ("9", 2), "beds": ("60", 1)},
        "house": {"house": "key", "site": ("town", 1), "owner": ("4", 2)},
        "doctor": {"doctor": "key", "subject": ("25", 2), "grade": ("5", 1)},
        "disease": {"disease": "key", "chapter": ("22", 1), "severity": ("10", 2)},
    },
    "sensors": {
        "reading": {
            "reading": "key",
            "sensor": ("sensor", 2),
            "day": ("365", 1),
            "hour": ("24", 1),
            "value": ("10000", 1),
            "quality": ("6", 4),
        },
        "sensor": {"sensor": "key", "model": ("model", 2), "site": ("site", 1), "since": ("20", 1)},
        "model": {"model": "key", "maker": ("maker", 1), "kind": ("10", 1), "accuracy": ("100", 1)},
        "maker": {"maker": "key", "country": ("15", 2)},
        "site": {"site": "key", "river": ("30", 1), "height": ("2000", 2)},
        "alarm": {"alarm": "key", "sensor": ("sensor", 3), "day": ("365", 1), "level": ("4", 3)},
    },
    "library": {
        "loan": {
            "loan": "key",
            "copy": ("copy", 2),
            "member": ("member", 2),
            "branch": ("branch", 1),
            "day": ("1000", 1),
            "days": ("60", 1),
        },
        "copy": {"copy": "key", "book": ("book", 2), "state": ("5", 3)},
        "book": {"book": "key", "author": ("author", 2), "genre": ("18", 2), "year": ("120", 1), "pages": ("900", 1)},
        "author": {"author": "key", "nation": ("40", 3), "born": ("200", 1)},
        "member": {"member": "key", "home": ("branch", 1), "joined": ("25", 1), "kind": ("4", 3)},
        "branch": {"branch": "key", "district": ("8", 1), "opened": ("80", 1)},
    },
}
# Rows of the other tables for a large one of 1,000.
SIZES = {
    "patient": 200, "town": 20, "ward": 15, "house": 4, "doctor": 40, "disease": 30,
    "sensor": 60, "model": 10, "maker": 4, "site": 20, "alarm": 50,
    "copy": 300, "book": 150, "author": 50, "member": 100, "branch": 5,
}  # fmt: skip
_NULLABLE = ("born", "beds", "accuracy", "height", "pages", "opened", "cost")

VIEWS: Mapping[str, Sequence[str]] = {
    "hospital": (
        # A star of five: one condition that leaves much, one that leaves little.
        "SELECT t.region, count(*) AS n FROM visit v JOIN patient p ON v.patient = p.patient "
        "JOIN doctor d ON v.doctor = d.doctor JOIN ward w ON v.ward = w.ward JOIN town t ON p.town = t.town "
        "WHERE d.grade > 0 AND w.kind = 7 GROUP BY t.region",
        "SELECT v.visit, p.born, d.subject, s.chapter, w.beds FROM visit v, patient p, doctor d, disease s, ward w "
        "WHERE v.patient = p.patient AND v.doctor = d.doctor AND v.disease = s.disease AND v.ward = w.ward "
        "AND p.born > 10 AND d.grade <> 3 AND s.severity = 9 AND w.beds IS NOT NULL",
        "SELECT d.subject, s.chapter, sum(v.cost) AS cost FROM visit v JOIN doctor d USING (doctor) "
        "JOIN disease s USING (disease) JOIN ward w USING (ward) WHERE s.chapter IN (3, 4) AND d.subject < 20 "
        "AND w.kind < 8 GROUP BY d.subject, s.chapter",
        "SELECT p.blood, h.owner, count(*) AS n FROM visit v JOIN patient p ON p.patient = v.patient "
        "JOIN ward w ON w.ward = v.ward JOIN house h ON h.house = w.house "
        "WHERE p.blood = 7 AND h.owner < 3 GROUP BY p.blood, h.owner",
        "SELECT v.visit, t.region FROM visit v JOIN patient p ON v.patient = p.patient JOIN town t ON t.town = p.town "
        "JOIN ward w ON v.ward = w.ward JOIN house h ON h.house = w.house WHERE h.site = p.town AND t.people > 20 "
        "AND v.day BETWEEN 100 AND 160",
        "SELECT s.chapter, max(v.cost) AS cost FROM visit v JOIN disease s USING (disease) JOIN patient p "
        "USING (patient) JOIN doctor d USING (doctor) WHERE p.born >= 88 AND s.severity >= 1 AND d.grade IN (1, 2, 3) "
        "GROUP BY s.chapter",
        "SELECT v.visit, d.subject FROM visit v LEFT JOIN doctor d ON v.doctor = d.doctor AND d.grade = 4 "
        "JOIN patient p ON p.patient = v.patient WHERE p.blood IN (5, 6, 7) AND v.cost > 4000",
        "SELECT DISTINCT p.town, s.chapter FROM visit v JOIN patient p USING (patient) JOIN disease s USING (disease) "
        "WHERE s.severity > 7 AND p.born < 80",
        "SELECT a.patient, a.visit AS first, b.visit AS later FROM visit a JOIN visit b ON a.patient = b.patient "
        "AND a.disease = b.disease AND a.day < b.day JOIN disease s ON s.disease = a.disease "
        "JOIN ward w ON b.ward = w.ward WHERE s.chapter = 5 AND w.kind <> 0",
        "SELECT w.kind, avg(v.cost) AS cost FROM visit v JOIN ward w USING (ward) JOIN house h USING (house) "
        "JOIN town t ON t.town = h.site WHERE t.region = 3 AND h.owner IN (0, 1, 2) AND v.cost > 100 GROUP BY w.kind",
    ),
    "sensors": (
        "SELECT m.kind, avg(r.value) AS value FROM reading r JOIN sensor s ON r.sensor = s.sensor "
        "JOIN model m ON m.model = s.model JOIN maker k ON k.maker = m.maker JOIN site t ON t.site = s.site "
        "WHERE k.country < 14 AND t.river = 5 AND r.quality < 4 GROUP BY m.kind",
        "SELECT r.reading, t.river FROM reading r JOIN sensor s USING (sensor) JOIN site t USING (site) "
        "JOIN model m USING (model) WHERE t.height > 1500 AND m.accuracy > 5 AND s.since < 19",
        "SELECT r.reading, a.level FROM reading r JOIN alarm a ON a.sensor = r.sensor AND a.day = r.day "
        "JOIN sensor s ON s.sensor = r.sensor JOIN model m ON m.model = s.model WHERE a.level = 3 AND m.kind > 0",
        "SELECT t.river, count(*) AS n FROM alarm a JOIN sensor s USING (sensor) JOIN site t USING (site) "
        "JOIN model m USING (model) WHERE a.level >= 2 AND m.kind IN (1, 2) AND t.height IS NOT NULL GROUP BY t.river",
        "SELECT r.day, m.maker, max(r.value) AS value FROM reading r JOIN sensor s USING (sensor) "
        "JOIN model m USING (model) JOIN maker k USING (maker) WHERE k.country = 9 AND r.value > 500 "
        "GROUP BY r.day, m.maker",
        "SELECT r.reading FROM reading r JOIN sensor s USING (sensor) JOIN site t USING (site) WHERE t.river <> 4 "
        "AND s.since = 3 AND EXISTS (SELECT 1 FROM alarm a WHERE a.sensor = r.sensor AND a.level > 1)",
        "SELECT a.reading, b.reading AS other FROM reading a JOIN sensor s ON a.sensor = s.sensor "
        "JOIN sensor z ON s.site = z.site JOIN reading b ON b.sensor = z.sensor AND b.day = a.day AND b.hour = a.hour "
        "JOIN site t ON t.site = s.site WHERE a.value < b.value AND t.river IN (2, 9) AND s.since > 1",
        "SELECT s.sensor, k.country FROM sensor s JOIN model m USING (model) JOIN maker k USING (maker) "
        "LEFT JOIN alarm a ON a.sensor = s.sensor WHERE k.country IN (0, 1, 2, 3) AND m.accuracy BETWEEN 40 AND 44",
        "SELECT t.site, sum(r.value) AS value FROM reading r JOIN sensor s USING (sensor) JOIN site t USING (site) "
        "JOIN model m USING (model) WHERE r.hour = 12 AND t.height < 1900 AND m.kind <> 3 AND s.since IS NOT NULL "
        "GROUP BY t.site",
        "SELECT r.reading, m.kind FROM reading r, sensor s, model m, site t WHERE r.sensor = s.sensor "
        "AND s.model = m.model AND s.site = t.site AND m.accuracy >= 97 AND t.height > 10 AND r.quality IN (4, 5)",
    ),
    "library": (
        "SELECT b.genre, count(*) AS n FROM loan l JOIN copy c ON l.copy = c.copy JOIN book b ON b.book = c.book "
        "JOIN author a ON a.author = b.author JOIN member m ON m.member = l.member "
        "WHERE m.kind >= 0 AND a.nation = 30 AND b.pages > 50 GROUP BY b.genre",
        "SELECT l.loan, b.year FROM loan l JOIN member m USING (member) JOIN branch r USING (branch) "
        "JOIN copy c USING (copy) JOIN book b USING (book) WHERE m.joined > 2 AND r.district = 6 AND b.genre = 15 "
        "AND c.state < 4",
        "SELECT m.kind, r.district, sum(l.days) AS days FROM loan l JOIN member m ON l.member = m.member "
        "JOIN branch r ON m.home = r.branch WHERE m.kind = 3 AND r.opened > 5 GROUP BY m.kind, r.district",
        "SELECT a.nation, count(DISTINCT l.member) AS members FROM loan l JOIN copy c USING (copy) "
        "JOIN book b USING (book) JOIN author a USING (author) WHERE a.born > 195 AND l.days < 55 GROUP BY a.nation",
        "SELECT l.loan FROM loan l JOIN copy c USING (copy) JOIN book b USING (book) JOIN member m USING (member) "
        "WHERE b.year BETWEEN 5 AND 100 AND c.state = 4 AND m.joined IN (1, 2, 3, 4, 5, 6)",
        "SELECT x.member, y.member AS other FROM loan x JOIN copy c ON x.copy = c.copy JOIN copy d ON d.book = c.book "
        "JOIN loan y ON y.copy = d.copy JOIN book b ON b.book = c.book WHERE x.member < y.member AND b.genre = 9 "
        "AND b.pages > 30 AND x.day > 900",
        "SELECT r.district, b.genre, count(*) AS n FROM loan l JOIN branch r ON l.branch = r.branch "
        "JOIN member m ON m.member = l.member AND m.home = l.branch JOIN copy c ON c.copy = l.copy "
        "JOIN book b ON b.book = c.book WHERE b.year > 115 AND r.district < 7 GROUP BY r.district, b.genre",
        "SELECT l.loan, a.nation FROM loan l LEFT JOIN member m ON m.member = l.member AND m.kind = 2 "
        "JOIN copy c ON c.copy = l.copy JOIN book b ON b.book = c.book JOIN author a ON a.author = b.author "
        "WHERE a.nation IN (20, 21, 22) AND b.pages IS NOT NULL AND l.day < 990",
        "SELECT m.member FROM member m JOIN branch r ON r.branch = m.home WHERE m.joined = 24 AND r.district <> 2 "
        "AND NOT EXISTS (SELECT 1 FROM loan l WHERE l.member = m.member AND l.day > 980)",
        "SELECT b.book, min(l.day) AS day FROM loan l JOIN copy c USING (copy) JOIN book b USING (book) "
        "JOIN author a USING (author) JOIN branch r USING (branch) WHERE r.opened IS NOT NULL AND a.nation > 1 "
        "AND b.genre IN (16, 17) AND c.state <> 1 GROUP BY b.book",
    ),
}


def tables_of(schema: str, rows: int) -> dict[str, pa.Table]:
    """The tables of a schema, the large one of so many rows: the same each time."""
    sizes = {table: SIZES[table] * rows // 1000 if table in SIZES else rows for table in SCHEMAS[schema]}
    found = {}
    for seed, (table, columns) in enumerate(SCHEMAS[schema].items()):
        drawn = np.random.default_rng(seed)
        found[table] = pa.table({name: _values(drawn, name, kind, sizes, table) for name, kind in columns.items()})
    return found


def _values(
    drawn: np.random.Generator, name: str, kind: tuple[str, float] | str, sizes: Mapping[str, int], table: str
) -> pa.Array:
    """Keys; or numbers below a bound, small ones more often: skewed by a power."""
    count = sizes[table]
    if isinstance(kind, str):
        return pa.array(np.arange(count))
    of, skew = kind
    bound = int(of) if of.isdigit() else sizes[of]
    values = np.minimum((bound * drawn.random(count) ** skew).astype(np.int64), bound - 1)
    return pa.array(values, mask=drawn.random(count) < 0.05 if name in _NULLABLE else None)


def definitions(schema: str) -> str:
    """The statements that create its tables."""
    types = {name: "" if name in _NULLABLE else " NOT NULL" for table in SCHEMAS[schema].values() for name in table}
    return ";".join(
        f"CREATE TABLE {name} ({', '.join(f'{c} BIGINT{types[c]}' for c in columns)}, PRIMARY KEY ({name}))"
        for name, columns in SCHEMAS[schema].items()
    )


def measure(schema: str, query: str, rows: int) -> tuple[int, int, int]:
    """The rows that a view visits: for the load, for changes of the large table, and for those of all others."""
    pipeline = deltic.Pipeline(engine="local", resources=deltic.Resources(threads=1))
    tables = tables_of(schema, rows)
    pipeline.sql(definitions(schema))
    pipeline.sql(f"CREATE MATERIALIZED VIEW answer AS {query}")
    load = epoch(pipeline, "insert", tables).visited
    large, *others = tables
    facts = _changes(pipeline, {large: tables[large]}, int(rows * PART))
    return load, facts, sum(_changes(pipeline, {name: tables[name]}, 3) for name in others)


def _changes(pipeline: deltic.Pipeline, tables: Mapping[str, pa.Table], count: int) -> int:
    """What deletions of so many rows of these tables visit, and the insertions that take them back."""
    visited = 0
    for seed in range(EPOCHS):
        chosen = {
            name: rows.take(np.random.default_rng(seed).choice(len(rows), min(count, len(rows)), replace=False))
            for name, rows in tables.items()
        }
        visited += sum(epoch(pipeline, action, chosen).visited for action in ("delete", "insert"))
    return visited


def figures(rows: int, names: Sequence[str]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Each view, with what it visits."""
    for schema, queries in VIEWS.items():
        for number, query in enumerate(queries, 1):
            if not names or f"{schema} {number}" in names:
                yield f"{schema} {number}", measure(schema, query, rows)


def table(found: Mapping[str, Mapping[str, Sequence[int]]]) -> Iterator[list[str]]:
    """The lines of the report: views, and each schema's sums and mean quotients."""
    now = found["now"]
    for schema in VIEWS:
        views = [view for view in now if view.startswith(schema)]
        for view in views:
            yield [view, *(f"{each[view][i]:,}" for i in range(3) for each in found.values())]
        if views:
            sums = [sum(each[view][i] for view in views) for i in range(3) for each in found.values()]
            yield [f"{schema}, all", *(f"{total:,}" for total in sums)]
            if "before" in found:
                before = found["before"]
                means = [_mean([max(1, now[v][i]) / max(1, before[v][i]) for v in views]) for i in range(3)]
                yield ["now / before", *(cell for mean in means for cell in ("", f"{mean:.2f}"))]


def _mean(quotients: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(quotients))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--rows", type=int, default=20_000, help="of the large table of each schema")
    parser.add_argument("--views", default="", help="hospital 1,sensors 3,…; all if not told")
    parser.add_argument("--print", action="store_true", help="print the figures of this process as JSON")
    options = parser.parse_args()
    if options.print:
        print(json.dumps(dict(figures(options.rows, [name for name in options.views.split(",") if name]))))
        return
    arguments = ["--rows", str(options.rows), "--views", options.views]
    found: dict[str, dict[str, list[int]]] = side_by_side(__file__, arguments, options.before)
    header = ["view", *(f"{what} {name}".strip() for what in ("load", "facts", "others") for name in found)]
    notes = NOTES.format(part=f"{PART:.0%}", epochs=EPOCHS)
    title = f"Joins of stars and snowflakes around {options.rows:,} rows: rows visited"
    report("joins", title, header, list(table(found)), notes)


if __name__ == "__main__":
    main()
