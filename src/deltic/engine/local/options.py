"""The options of the local engine, which do not change with its definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deltic.circuit.graph import Circuit
from deltic.engine.local.kernels.thresholds import Thresholds
from deltic.engine.local.recursion.refresh import Refresh
from deltic.engine.local.recursion.strategy import Strategies, Strategy
from deltic.engine.protocol import Engine
from deltic.program.compiling import Compiler
from deltic.program.program import Program


@dataclass(frozen=True)
class LocalOptions:
    """How a local engine keeps recursions fresh, and within which limits.

    `chosen` are the strategies of single views, `inner_engine` makes the engine of a recursion inside a recursion.
    """

    strategy: Strategy
    chosen: Mapping[str, Strategy]
    refresh: Refresh
    iteration_limit: int
    recursion_timeout: float | None
    thresholds: Thresholds
    compiler: Compiler
    inner_engine: Callable[[Circuit], Engine]

    def compiled(self, circuit: Circuit) -> Program:
        """The program of a circuit; raises UnsupportedError where it has no derivative."""
        return self.compiler.program(circuit, strict=self.refresh.strict)

    def strategies(self, program: Program) -> Strategies:
        """How the recursions of a program are maintained; a hidden view is a relation of that name."""
        named = {view: program.sinks.get(view, view) for view in self.chosen}
        return Strategies(self.strategy, {named[view]: strategy for view, strategy in self.chosen.items()})
