"""The input tables of `program.dl`, kept outside the pipeline: the input of a recomputation from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from importlib.resources import files

import pyarrow as pa
import pyarrow.compute as pc

from deltic.datalog import check, parse
from deltic.demo.facts import Fact
from deltic.demo.spark_facts import FACTS, VALUES, fact_batch

Schemas = Mapping[str, pa.Schema]


@cache
def program_text() -> str:
    """Return the Datalog program of the demonstration."""
    return files("deltic.demo").joinpath("program.dl").read_text("utf-8")


@cache
def input_schemas() -> Schemas:
    """Return the columns of the program's input relations by name."""
    relations = check([parse(program_text(), "program.dl")]).relations
    return {name: relation.schema.to_arrow() for name, relation in relations.items() if relation.is_table}


def typed_tables(facts: pa.Table) -> dict[str, pa.Table]:
    """Return the facts in their travelling form (see spark_facts.py) as one table for each input relation."""
    return {name: _typed(facts.filter(pc.equal(facts["relation"], name)), s) for name, s in input_schemas().items()}


def changed_tables(facts: Iterable[Fact]) -> dict[str, pa.Table]:
    """Some facts as tables, only of the relations that they are about."""
    batch = pa.Table.from_batches([fact_batch("", facts)])
    return {name: table for name, table in typed_tables(batch).items() if table.num_rows}


class FactTables:
    """The facts of all modules as tables. An edit replaces all facts of the modules it touches."""

    def __init__(self, facts: pa.Table) -> None:
        self._first = facts
        self._replaced: dict[str, Set[Fact]] = {}

    def replace(self, facts: Mapping[str, Set[Fact]]) -> None:
        """Replaces the modules' former facts by these; an empty set when a module is gone."""
        self._replaced.update(facts)

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables as they stand, every relation present, no row twice."""
        replaced = pc.is_in(self._first["module"], pa.array(self._replaced, pa.string()))
        batches = [fact_batch(module, facts) for module, facts in self._replaced.items()]
        edited = pa.Table.from_batches(batches, FACTS)
        return typed_tables(pa.concat_tables([self._first.filter(pc.invert(replaced)), edited]))


def _typed(facts: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [facts[value].cast(field.type) for value, field in zip(VALUES, schema, strict=False)]
    return pa.table(columns, schema=schema)
