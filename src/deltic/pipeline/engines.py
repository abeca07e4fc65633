"""The engines by name, and how they keep recursive views fresh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from deltic.circuit.graph import Circuit
from deltic.engine.protocol import Engine
from deltic.errors import DelticError
from deltic.pipeline.names import check_choice

EngineName = Literal["auto", "local", "reference"]
StrategyName = Literal["nested", "elastic", "full"]
RefreshName = Literal["auto", "incremental", "incremental strict", "full"]


@dataclass(frozen=True)
class Maintenance:
    """How recursive views are kept fresh; what each choice means is told at `Pipeline`."""

    strategy: StrategyName
    refresh: RefreshName
    switch: float
    iteration_limit: int

    def __post_init__(self) -> None:
        check_choice(self.strategy, "strategy", get_args(StrategyName))
        check_choice(self.refresh, "refresh policy", get_args(RefreshName))
        if not self.switch >= 0:
            raise DelticError(f"switch is {self.switch}; it is a fraction of a bootstrap's time: 0 or more")
        if self.iteration_limit < 1:
            raise DelticError(f"iteration_limit is {self.iteration_limit}; it is a number of iterations: 1 or more")


def new_engine(name: EngineName, circuit: Circuit, maintenance: Maintenance) -> Engine:
    """An engine for the circuit, without rows; raises UnsupportedError when it cannot run it."""
    if name == "reference":
        from deltic.engine.reference import ReferenceEngine

        return ReferenceEngine(circuit, maintenance.iteration_limit)
    from deltic.engine.local.engine import LocalEngine
    from deltic.engine.local.refresh import Policy, Refresh
    from deltic.engine.local.strategy import Strategy

    policy, _, strict = maintenance.refresh.partition(" ")
    refresh = Refresh(Policy(policy), maintenance.switch, bool(strict))
    return LocalEngine(circuit, Strategy(maintenance.strategy), refresh, maintenance.iteration_limit)
