"""A pipeline beside a model of it: what each batch may do to a table and its views."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, Literal

from deltic import ChangeError, DataError, DelticError, Pipeline
from deltic.circuit.tables import WEIGHT
from deltic.pipeline.spark.spark import quoted
from deltic.values.types import Schema
from tests.pipeline.fuzzing.forms import Batch, Own, Rows, batch_of, meant
from tests.pipeline.fuzzing.values import Wrong, random_schema, random_value

POLICIES: tuple[Literal["error", "normalize", "trust"], ...] = ("error", "error", "normalize", "normalize", "trust")


class Failure(AssertionError):
    """A batch did what it may not."""


class World:
    """One table with a view of all its rows and a count by its first column, and what their rows should be."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.schema = rng, random_schema(rng)
        self.is_bag = rng.random() < 0.3
        self.pipeline = Pipeline()
        self.pipeline.table("t", self.schema.to_arrow(), bag=self.is_bag)
        first = quoted(self.schema.names[0])
        self.pipeline.sql("CREATE VIEW copy AS SELECT * FROM t")
        self.pipeline.sql(f"CREATE VIEW tally AS SELECT {first}, count(*) AS n FROM t GROUP BY {first}")
        with self.pipeline.transaction():
            pass
        self.sums: Counter[Any] = Counter()
        self.known: Rows = []
        self.last: list[str] = []

    def step(self) -> tuple[str, Batch]:
        """One batch: what became of it, and the batch. Raises Failure."""
        rng = self.rng
        rows = [self._row() for _ in range(rng.choice([0, 1, 1, 2, 3, 10, 40]))]
        batch = batch_of(rng, self.schema, rows)
        sign = 0 if batch.signed else rng.choice([1, 1, -1])
        policy = rng.choice(POLICIES[:4] if self.is_bag else POLICIES)
        batch.how.append(f"{sign:+d} {policy}")
        self.last = batch.how
        outcome = self._apply(batch, sign, policy)
        self.known = [*self.known[-20:], *rows]
        return outcome, batch

    def _row(self) -> tuple[Any, ...]:
        if self.known and self.rng.random() < 0.3:
            return self.rng.choice(self.known)
        return tuple(random_value(self.rng, c.type, c.nullable) for c in self.schema)

    def _apply(self, batch: Batch, sign: int, policy: Literal["error", "normalize", "trust"]) -> str:
        expected = self._expected(batch, sign)
        epoch = self.pipeline.epoch
        try:
            with self.pipeline.transaction(policy) as change:
                if sign:
                    (change.insert if sign > 0 else change.delete)("t", batch.given)
                else:
                    change.change("t", batch.given)
        except (DelticError, Own) as error:
            self._check_refusal(batch, expected, policy, error)
            if self.pipeline.epoch != epoch:
                raise Failure("a rejected batch has made an epoch") from error
            return type(error).__name__
        if expected is None:
            raise Failure("rows that mean nothing in the table were taken")
        after = self._after(expected, policy)
        if after is None:
            raise Failure("a change that does not fit was taken")
        came = self._shown(after)
        came.subtract(self._shown(self.sums))
        self.sums = after
        self._same(
            "the change of copy", {r: w for r, w in self._weighted(change.of("copy").to_arrow()).items() if w}, came
        )
        self.check()
        return "taken"

    def _check_refusal(self, batch: Batch, expected: Counter[Any] | None, policy: str, error: Exception) -> None:
        if isinstance(error, ChangeError):
            if expected is not None and self._after(expected, policy) is not None:
                raise Failure(f"a change that fits was refused: {error}") from error
        elif expected is not None and batch.in_order:
            raise Failure(f"rows in order were refused: {error}") from error
        elif not isinstance(error, DataError | Own):
            raise Failure(f"{type(error).__name__} is no DataError: {error}") from error
        self.check()

    def _expected(self, batch: Batch, sign: int) -> Counter[Any] | None:
        """The weights by what rows mean; None where some row means nothing."""
        try:
            rows = meant(batch.cells(), self.schema, inserts=sign > 0)
            weights = self._weights(batch) if batch.signed else [sign] * len(rows)
        except Wrong:
            return None
        total: Counter[Any] = Counter()
        for row, weight in zip(rows, weights, strict=True):
            total[row] += weight
        return total

    def _weights(self, batch: Batch) -> list[int]:
        given = batch.given
        if not hasattr(given, "column_names"):
            names = given.schema.names
            if names.count(WEIGHT) != 1:
                raise Wrong
            batch.given = given = given.read_all() if hasattr(given, "read_all") else given
        if given.schema.names.count(WEIGHT) != 1:
            raise Wrong
        weights = given.column(WEIGHT).to_pylist()
        if not all(isinstance(w, int) and not isinstance(w, bool) and w for w in weights):
            raise Wrong
        return weights

    def _after(self, change: Counter[Any], policy: str) -> Counter[Any] | None:
        """The sums of weights after a change; None where it does not fit."""
        after = Counter(self.sums)
        for row, weight in change.items():
            if policy == "trust":
                after[row] += weight
                continue
            most = 10**9 if self.is_bag else 1
            old = max(0, min(self.sums[row], most))
            new = max(0, min(old + weight, most))
            if policy == "error" and new != old + weight:
                return None
            if weight:
                after[row] = new
        return after

    def _shown(self, sums: Counter[Any]) -> Counter[Any]:
        return Counter({row: weight if self.is_bag else 1 for row, weight in sums.items() if weight > 0})

    def check(self) -> None:
        """Raises Failure unless table and views are what the model says."""
        rows = self._shown(self.sums)
        for name in ("t", "copy"):
            self._same(name, self._weighted(self.pipeline[name].rows(counted=True).to_arrow()), rows)
            if len(self.pipeline[name]) != sum(rows.values()):
                raise Failure(f"{name} has {len(self.pipeline[name])} rows, not {sum(rows.values())}")
        tally: Counter[Any] = Counter()
        for row, weight in rows.items():
            tally[row[0]] += weight
        found = self.pipeline["tally"].to_arrow()
        keys = meant([(v,) for v in found.column(0).to_pylist()], Schema(self.schema.columns[:1]))
        self._same("tally", dict(zip((k for (k,) in keys), found.column("n").to_pylist(), strict=True)), tally)

    def _weighted(self, table: Any) -> dict[Any, int]:
        columns = [table.column(name).to_pylist() for name in self.schema.names]
        rows = meant(list(zip(*columns, strict=True)), self.schema)
        return dict(zip(rows, table.column(WEIGHT).to_pylist(), strict=True))

    def _same(self, what: str, found: dict[Any, int], expected: Counter[Any]) -> None:
        wanted = {row: weight for row, weight in expected.items() if weight}
        if found != wanted:
            more = {row: w for row, w in found.items() if wanted.get(row) != w}
            less = {row: w for row, w in wanted.items() if found.get(row) != w}
            raise Failure(f"{what} has {str(more)[:400]} and should have {str(less)[:400]}")
