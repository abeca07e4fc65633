"""The words that options of the commands take."""

from __future__ import annotations

from enum import StrEnum


class EngineChoice(StrEnum):
    """What reads and writes, and what evaluates."""

    auto = "auto"
    local = "local"
    spark = "spark"
    reference = "reference"


class DemoEngine(StrEnum):
    """What keeps the views of the demonstration."""

    auto = "auto"
    local = "local"
    spark = "spark"


class RoundsOption(StrEnum):
    """When recursions that preserve no key take rounds on shards."""

    auto = "auto"
    always = "always"
    never = "never"


class ExecutorOption(StrEnum):
    """What computes a transaction on shards."""

    auto = "auto"
    process = "process"
    job = "job"


class CopiesOption(StrEnum):
    """Whether every shard has a copy of what is small beside what it is joined with."""

    auto = "auto"
    never = "never"


class RefreshChoice(StrEnum):
    """When recursive views are recomputed."""

    auto = "auto"
    incremental = "incremental"
    strict = "incremental strict"
    full = "full"


class OutputFormat(StrEnum):
    """The form of the views that are written."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    arrow = "arrow"


class ExplainFormat(StrEnum):
    """How `deltic explain` shows circuits."""

    text = "text"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


class LogFormat(StrEnum):
    """The form of the records of epochs on standard error."""

    text = "text"
    json = "json"


class OnError(StrEnum):
    """What a malformed row does to its epoch."""

    stop = "stop"
    skip = "skip"


class MissingFacts(StrEnum):
    """What to do where a table with `.input` has no file."""

    error = "error"
    empty = "empty"


class ConflictPolicy(StrEnum):
    """What to do with changes that do not fit their table."""

    error = "error"
    normalize = "normalize"
    trust = "trust"


class LateChoice(StrEnum):
    """What to do with rows that come too late."""

    drop = "drop"
    error = "error"


class RewriteChoice(StrEnum):
    """Rewrites that a plan may use; see `deltic.calculus.planning`."""

    eliminate = "eliminate"
    share = "share"
    demand = "demand"
