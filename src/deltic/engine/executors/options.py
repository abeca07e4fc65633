"""The options of the stores of an engine, which come from those of the engine and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.engine.keyed import key_columns
from deltic.engine.options import EngineOptions, StoreOptions
from deltic.engine.recursion.strategy import Strategies, Strategy
from deltic.program.program import Program


@dataclass(frozen=True)
class Options(StoreOptions):
    """The options that all stores of an engine share; `bags` are the tables that are bags.

    `keys` are the key columns of tables that have a key, by relation.
    """

    bags: frozenset[str] = frozenset()
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strategies: Strategies = field(default_factory=lambda: Strategies(Strategy.NESTED, {}))

    @classmethod
    def of(cls, circuit: Circuit, program: Program, given: EngineOptions) -> Options:
        """Return the options of stores, from an engine's options and the tables of its circuit.

        The strategy of a hidden view is that of the relation of its name.
        """
        shared: dict[str, Any] = {each.name: getattr(given, each.name) for each in fields(StoreOptions)}
        sources = [op for op in circuit.operators if isinstance(op, ops.Source)]
        bags = frozenset(source.name for source in sources if not source.is_set)
        chosen = {program.sinks.get(view, view): strategy for view, strategy in given.strategies.items()}
        strategies = Strategies(given.strategy, chosen)
        return cls(**shared, bags=bags, keys=key_columns(circuit, program), strategies=strategies)
