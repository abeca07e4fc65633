"""A program placed on shards. Immutable: another program or another placement is another object."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from deltic.engine.batches import Changed, in_memory
from deltic.engine.executors.constants import is_constant, rows_of_constant
from deltic.engine.executors.shards.evolution import ShardEvolution
from deltic.engine.executors.shards.exchange import messages_of
from deltic.engine.executors.shards.lay_out import NOWHERE, lay_out
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.plan import Key, ShardPlan
from deltic.engine.executors.shards.recursion import ShardDefinition
from deltic.engine.executors.shards.restrict import restrict
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.task_memory import shrunk
from deltic.engine.operators.faults import Faults
from deltic.engine.options import Options
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.store import Store
from deltic.program.program import Program

# For this many sets of changed and empty relations, the plans of epochs are cached.
_EPOCHS = 256


@dataclass(frozen=True)
class PlacedProgram:
    """The definition that is maintained, and its plan on shards."""

    definition: ShardDefinition
    plan: ShardPlan

    @classmethod
    def of(cls, definition: ShardDefinition, there: Mapping[str, tuple[Key, ...]] = NOWHERE) -> PlacedProgram:
        """Lay out a program; rows of relations in `there` are spread by these keys already.

        Raises UnsupportedError if shards do not support a part of it.
        """
        return cls(definition, lay_out(definition.program, definition, there))

    @property
    def program(self) -> Program:
        """The program, whose relations are the homes of the plan."""
        return self.definition.program

    @property
    def options(self) -> Options:
        """The options that all shards share."""
        return self.definition.options

    @property
    def in_rounds(self) -> frozenset[str]:
        """The relations of recursions in rounds."""
        return frozenset(name for step in self.plan.iterated for name in step.stratum.relations)

    def has_keys(self, table: str) -> bool:
        """Return whether all rows of a table's relation with the same key are on one shard."""
        return self.plan.has_keys(table, self.options.keys)

    def for_epoch(self, changed: Collection[str], empty: Collection[str]) -> PlacedProgram:
        """Return the program with the part of the plan that an epoch needs, if these relations receive rows from it.

        Those in `empty` have no rows before it.
        """
        key = frozenset(changed), frozenset(empty)
        if key not in self._for_epochs:
            if len(self._for_epochs) >= _EPOCHS:
                self._for_epochs.clear()
            self._for_epochs[key] = replace(self, plan=restrict(self.plan, *key))
        return self._for_epochs[key]

    @cached_property
    def _for_epochs(self) -> dict[tuple[frozenset[str], frozenset[str]], PlacedProgram]:
        return {}

    # What is sent

    def changed(self, changes: Mapping[str, Changed]) -> Iterator[Message]:
        """Yield the changes of tables as messages."""
        for table, batch in changes.items():
            name = self.program.tables[table]
            yield from self._spread(name, in_memory(table, batch, self.program.relations[name].schema).to_arrow())

    def constants(self, names: Iterable[str]) -> Iterator[Message]:
        """Yield the rows of those relations that are constants as messages."""
        for name in names:
            if is_constant(relation := self.program.relations[name]):
                yield from self._spread(name, rows_of_constant(relation))

    def beginning(self, found: ShardEvolution) -> Iterator[Message]:
        """Yield the initial rows of constants and tables in an evolution, as messages."""
        yield from self.constants(found.constants)
        yield from self.changed(found.begun)

    def _spread(self, name: str, rows: pa.Table) -> Iterator[Message]:
        return messages_of(name, rows, self.plan.placed[name].key, self.options.shards)

    # What is there

    def empty(self) -> list[Shard]:
        """Return the shards without rows."""
        return self.shards([Store() for _ in range(self.options.shards)])

    def shards(self, stores: Iterable[Store]) -> list[Shard]:
        """Return the shards over these stores."""
        return [Shard(number, self.plan, self.options, store) for number, store in enumerate(stores)]

    def version(self, epoch: int, stores: Sequence[Store]) -> StateVersion:
        """Return the version of the tables and views in these stores as of an epoch."""
        return StateVersion.of(epoch, self.program, stores)

    def shrunk(self, stores: Sequence[Store]) -> frozenset[str]:
        """Return the relations of recursions in rounds that would fit one task well; none without a memory limit."""
        limit = self.options.task_memory
        return shrunk(self.plan, stores, limit) if limit is not None else frozenset()

    def refuse(self, faults: Iterable[tuple[str, str, int]]) -> None:
        """Raise an EvaluationError if a row has no value. Faults of different shards may cancel."""
        total = Faults()
        for relation, message, weight in faults:
            total.add(self.plan.placed[relation].home, message, weight)
        total.refuse(self.program.views_over)
