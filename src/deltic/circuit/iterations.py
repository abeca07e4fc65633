"""Non-terminating recursions: limits of iterations and time, and errors that name the rules which make new values."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import is_literal, show
from deltic.circuit.expressions.checks import spoken
from deltic.circuit.graph import Circuit
from deltic.errors import IterationLimitError

ITERATION_LIMIT = 100_000
"""A recursion that computes values and needs more iterations is assumed not to terminate; engines may set another
limit. A recursion that computes no values terminates: it can only derive finitely many rows."""


RECURSION_TIMEOUT = 10.0
"""The seconds after which a recursion that computes values, past `UNTIMED` iterations, is assumed not to terminate."""

UNTIMED = 100
"""Spark's own limit of levels: a recursion that Spark would answer is not cut off by time."""


@dataclass
class Deadline:
    """The time limit of a recursion that computes values."""

    timeout: float | None
    started: float = field(default_factory=time.monotonic)

    def is_past(self, iteration: int) -> bool:
        """Return whether the recursion has run for too long."""
        return self.timeout is not None and iteration > UNTIMED and time.monotonic() - self.started > self.timeout


_HIDDEN = re.compile(r"(?<!\w)%[\w.]+")
"""The name of a relation that is internal to a plan."""


def _named(relations: Sequence[str]) -> str:
    """Return the names of the relations that a user knows; all names if there is none."""
    return ", ".join([name for name in relations if not _HIDDEN.match(name)] or relations)


def limit_error(
    relations: Sequence[str], rules: Sequence[str], limit: int, seconds: float | None = None
) -> IterationLimitError:
    """Return the error of a recursion through these relations that is assumed not to terminate.

    `rules` are the texts of those that compute values. `limit` is the number of iterations that were run; `seconds` is
    set where the time limit was exceeded.
    """
    first = [_HIDDEN.sub("…", rule) for rule in rules[:3]]
    shown = [*first, *([f"and {len(rules) - 3} more"] if len(rules) > 3 else [])]
    within, option = ("", "iterations (iteration_limit in Python, --iteration-limit)")
    if seconds is not None:
        within, option = f" in {seconds:g} s", "time (recursion_timeout in Python, --recursion-timeout)"
    message = f"the recursion through {_named(relations)} has no end after {limit:,} iterations{within}; "
    message += "nothing was changed"
    if shown:
        message += ". What computes new values in it: " + "; ".join(shown)
        message += f". Bound these values in the rules, or allow more {option}"
    else:
        message += (
            ". Rows come and go in it: what is derived takes away what it was derived from. Let no row depend on "
        )
        message += f"its own absence, or allow more {option}"
    return IterationLimitError(message, tuple(relations))


def oscillation_error(
    relations: Sequence[str], iterations: int, period: int, rows: Sequence[str] = ()
) -> IterationLimitError:
    """Return the error of a recursion through these relations that repeats the state of an earlier iteration.

    `rows` are examples of rows that appear and disappear.
    """
    message = f"the recursion through {_named(relations)} has no end: in iteration {iterations:,} it is as it was "
    message += f"{period:,} before, and not at rest; nothing was changed. "
    if rows:
        message += f"In between come and go {' and '.join(filter(None, [', '.join(rows[:-1]), rows[-1]]))}. "
    message += "What is derived in it takes away what it was derived from: let no row depend on its own absence, nor "
    message += "an aggregate on its own result, or keep circles out of the data"
    return IterationLimitError(message, tuple(relations))


def circle_error(relations: Sequence[str]) -> IterationLimitError:
    """Return the error of a recursion of bags in which rows derive themselves, so that weights grow without bound."""
    message = f"the recursion through {_named(relations)} has no end; nothing was changed. With UNION ALL a row "
    message += "counts once for each way to it, and there are rows that lead back to themselves: write UNION, which "
    message += "takes each row once, or keep the circles out of the data"
    return IterationLimitError(message, tuple(relations))


def computing_rules(body: Circuit) -> list[str]:
    """Return the rules of a fixpoint's body that compute values from recursive relations, as text.

    A rule is one term of the sum whose set is a sink.
    """
    return [rule for name in sorted(body.sinks) for rule in _rules(body, name)]


def _rules(body: Circuit, name: str) -> Iterator[str]:
    pending = [body.sinks[name]]
    while pending:
        number = pending.pop(0)
        node = body.nodes[number]
        if isinstance(node.operator, ops.Distinct | ops.Plus):
            pending += node.inputs
        elif text := _rule(body, name, number):
            yield text


def _rule(body: Circuit, name: str, number: int) -> str:
    """Return a rule such as `n(x + 1) :- n`; "" where nothing is computed or nothing is recursive."""
    operators = [body.nodes[n].operator for n in sorted(body.ancestors([number]))]
    recursive = list(dict.fromkeys(op.name for op in operators if isinstance(op, ops.Feedback)))
    computed = [(op, pair) for op in operators for pair in _computed(op)]
    if not recursive or not computed:
        return ""
    head = body.nodes[number].operator
    values = list(map(spoken, head.expressions)) if isinstance(head, ops.Map) else body.type_of(number).schema.names
    parts = [*recursive, *(f"{column} = {text}" for op, (column, text) in computed if op is not head)]
    return f"{name}({', '.join(values)}) :- {', '.join(parts)}"


def _computed(op: ops.Operator) -> Iterator[tuple[str, str]]:
    """Yield the columns whose values an operator computes, each with the text of the expression."""
    if isinstance(op, ops.FlatMap):
        yield op.column, f"{op.generator}({', '.join(map(show, op.expressions))})"
    if not isinstance(op, ops.Map):
        return
    for column, expression in zip(op.columns, op.expressions, strict=True):
        if not isinstance(expression, exp.Column) and not is_literal(expression):
            yield column.name, spoken(expression)
