"""An explanation: a row, the rule or operator that derives it, and its premises, down to rows of tables."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

from deltic.circuit.drawing.layers import layered
from deltic.circuit.drawing.svg import Graph, Panel, picture, wrapped

_CALL = re.compile(r"\b(\w+)\(")
_FUNCTORS = {"concat": "cat", "length": "strlen"}
"""Functors of Soufflé by the functions of SQL with the same arguments."""

_AGGREGATES = {"checked_sum": "sum", "tried_sum": "try_sum", "mean": "avg"}
"""Aggregates of SQL by the accumulators that compute them."""

_COLUMN = re.compile(r'\b([^\W\d]\w*?)_\d+\b|"([^"]+)_\d+"')
"""A column with a number, which it has if another one has the same name."""

_CHAIN = 8
"""Steps of one relation below each other that are shown; longer chains are folded in the middle."""

_RULE = 90
"""Characters of a rule's text that are shown."""


@dataclass(frozen=True)
class Absence:
    """A premise that no row of `relation` has these values: `pattern` are the values by column.

    In a recursion, `until` is the last iteration without such a row; None if the final state has none. `where` is a
    condition that such rows do not meet; then `relation` may be several, joined.
    """

    relation: str
    pattern: Mapping[str, Any]
    until: int | None = None
    where: str = ""
    words: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The user's texts for columns; empty for columns that the user did not write."""

    def __str__(self) -> str:
        pairs = [(self.words.get(name, name), value) for name, value in self.pattern.items() if not self._repeats(name)]
        values = [(name, value) for name, value in dict(pairs).items() if name]
        having = ", ".join(f"{name} = {shown(value)}" for name, value in values)
        until = "" if self.until is None else f" until iteration {self.until}"
        where = f" {self.where}" if self.where else ""
        return f"no row of {self.relation}" + (f" with {having}" if having else "") + where + until

    def _repeats(self, name: str) -> bool:
        """Return whether a column has the name, with a number, and the value of another one, to which it is joined."""
        column = _COLUMN.fullmatch(name)
        return column is not None and (column[1], self.pattern[name]) in self.pattern.items()


@dataclass(frozen=True)
class Note:
    """A fact beside the premises, in words: a condition, the size of a group, or the number of omitted rows."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class ExplanationStep:
    """A row of a relation with the reason for it. Steps are shared: the whole is a graph without cycles.

    `by` is "table", the rule's text, or the view; `place` is its place in the text. In a recursion `at` is
    the first iteration with the row, and `until` the last one, None if the row is in the final state. `variables` are
    the columns of the joined rows. `is_cut` marks a step at which `depth` or `budget` ended the explanation.
    """

    relation: str
    columns: tuple[str, ...]
    row: tuple[Any, ...]
    at: int | None = None
    until: int | None = None
    by: str = "table"
    place: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    premises: tuple[ExplanationStep | Absence | Note, ...] = ()
    is_cut: bool = False
    epoch: int | None = None
    """The epoch at which it was there, where that is an earlier one than that which was asked."""
    height: int = 0
    """The length of the longest path to a row of a table."""

    @property
    def steps(self) -> tuple[ExplanationStep, ...]:
        """The premises that are rows."""
        return tuple(premise for premise in self.premises if isinstance(premise, ExplanationStep))

    def __str__(self) -> str:
        at = "" if self.at is None else f" @{self.at}" if self.until is None else f" @{self.at}–{self.until}, then gone"
        at += "" if self.epoch is None else f" at epoch {self.epoch}"
        return f"{self.relation}({', '.join(map(shown, self.row))}){at}"


def steps_below(root: ExplanationStep) -> list[ExplanationStep]:
    """Return a step and those below it, each once, premises before conclusions."""
    done: dict[int, ExplanationStep] = {}
    pending = [(root, False)]
    while pending:
        step, is_below_done = pending.pop()
        if id(step) in done:
            continue
        if is_below_done:
            done[id(step)] = step
        else:
            pending += [(step, True), *((premise, False) for premise in reversed(step.steps))]
    return list(done.values())


class Explanation:
    """Why a row is in a view: `root` is the step of the row. Printing it gives an indented tree."""

    def __init__(self, root: ExplanationStep, epoch: int, others: Callable[[bool], Iterator[ExplanationStep]]) -> None:
        self.root, self.epoch, self._others = root, epoch, others

    @property
    def height(self) -> int:
        """The length of the longest path from the row to a row of a table."""
        return self.root.height

    def steps(self) -> list[ExplanationStep]:
        """Return all steps, each once, premises before conclusions."""
        return steps_below(self.root)

    def leaves(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Return the rows of tables in which the explanation ends: (table, row), each once."""
        return [(step.relation, step.row) for step in self.steps() if step.by == "table"]

    def alternatives(self) -> Iterator[Explanation]:
        """Return an iterator over explanations by other derivations of the row, from the lowest iterations on.

        A derivation whose premises rest on the row itself is left out. `.root.at` stays the row's first iteration.
        """
        return (Explanation(root, self.epoch, self._others) for root in self._others(True))

    def count(self) -> int:
        """Return the number of derivations of the row at its iteration: those whose premises appear before it."""
        return 1 + sum(1 for _ in self._others(False))

    def to_dict(self) -> dict[str, Any]:
        """Return the steps by number, first that of the row: relation, row, by, place, at, variables, and premises.

        A premise is the number of a step, or the text of an absence or note.
        """
        steps = self.steps()[::-1]
        numbers = {id(step): number for number, step in enumerate(steps)}
        return {"epoch": self.epoch, "height": self.height, "steps": [_described(step, numbers) for step in steps]}

    def to_json(self) -> str:
        """`to_dict` as JSON; values without a JSON type are texts."""
        return json.dumps(self.to_dict(), default=str, ensure_ascii=False)

    def to_dot(self) -> str:
        """Return the graph for Graphviz, an arrow from each row to its premises."""
        steps = self.steps()[::-1]
        numbers = {id(step): number for number, step in enumerate(steps)}
        lines = ["digraph why {", "  node [shape=box];"]
        for number, step in enumerate(steps):
            shape = ", style=filled" if step.by == "table" else ""
            lines.append(f"  n{number} [label={json.dumps(str(step), ensure_ascii=False)}{shape}];")
            lines += [f"  n{number} -> n{numbers[id(premise)]};" for premise in step.steps]
            for index, other in enumerate(p for p in step.premises if not isinstance(p, ExplanationStep)):
                label = json.dumps(str(other), ensure_ascii=False)
                lines.append(f"  n{number}_{index} [label={label}, shape=plaintext]; n{number} -> n{number}_{index};")
        return "\n".join([*lines, "}"])

    def to_svg(self) -> str:
        """Return the graph as a picture: each row above its premises, rows of tables with a frame of their own."""
        steps = self.steps()[::-1]
        numbers = {id(step): number for number, step in enumerate(steps)}
        panels = [_panel(step) for step in steps]
        edges = [(number, numbers[id(p)]) for number, step in enumerate(steps) for p in dict.fromkeys(step.steps)]
        layout = layered([(panel.width, panel.height) for panel in panels], edges)
        return picture([Panel("inner", [("title", str(self.root))], inside=[Graph(panels, layout, len(edges))])])

    def __str__(self) -> str:
        return "\n".join(lines_of(self.root))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the tree for notebooks, each step to be unfolded."""
        return "".join(_folds(self.root))


def _panel(step: ExplanationStep) -> Panel:
    """Return the row, its rule, and its premises that are not rows."""
    others = [str(premise) for premise in step.premises if not isinstance(premise, ExplanationStep)]
    below = [
        *([] if step.by == "table" else wrapped(brief(step.by))),
        *(line for text in others for line in wrapped(text)),
    ]
    lines = [*(("title", line) for line in wrapped(str(step))), *(("type", line) for line in below)]
    return Panel("box end" if step.by == "table" else "box", lines, "\n".join([str(step), step.by, *others]))


def brief(rule: str) -> str:
    """Return the text of a rule, on one line and not too long."""
    return shorten(rule, _RULE, placeholder=" …")


def as_written(text: str, rule: str) -> str:
    """Return a condition or an operator with the user's names: those of functions and columns that the rule has."""

    def name(call: re.Match[str]) -> str:
        function = call[1].lower()
        functor = _FUNCTORS.get(function, function)
        if f"{functor}(" in rule:
            return f"{functor}("
        return f"{function if function in rule else _AGGREGATES.get(function, function)}("

    numbered = {column[0]: column[1] or column[2] for column in _COLUMN.finditer(text) if column[0] not in rule}
    is_plain = all(stem in rule and not re.search(rf"\b{re.escape(stem)}\b(?!_\d)", text) for stem in numbered.values())
    result = _CALL.sub(name, text)
    return _COLUMN.sub(lambda column: numbered.get(column[0], column[0]), result) if is_plain else result


def shown(value: Any) -> str:
    """Return a value as people read it: texts in quotes, NULL for None."""
    if value is None:
        return "NULL"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)


def _described(step: ExplanationStep, numbers: Mapping[int, int]) -> dict[str, Any]:
    premises = [numbers[id(p)] if isinstance(p, ExplanationStep) else str(p) for p in step.premises]
    fields: dict[str, Any] = {"relation": step.relation, "row": list(step.row), "by": step.by, "place": step.place}
    fields |= {"at": step.at, "variables": dict(step.variables), "premises": premises}
    return (
        fields
        | ({"cut": True} if step.is_cut else {})
        | {name: value for name, value in (("until", step.until), ("epoch", step.epoch)) if value is not None}
    )


def _head(step: ExplanationStep) -> str:
    rule = "" if step.by == "table" else f"   [{brief(step.by)}]"
    return f"{step}{rule}" + (" …" if step.is_cut else "")


def lines_of(root: ExplanationStep) -> list[str]:
    """Return the lines of the indented tree of a step."""
    return ["  " * depth + line for line, depth in _walk(root)]


def _walk(root: ExplanationStep) -> Iterator[tuple[str, int]]:
    """Yield the lines of the tree with their depths; a repeated step is shown without its premises."""
    shown_before: set[int] = set()
    pending: list[tuple[ExplanationStep | Absence | Note | str, int]] = [(root, 0)]
    while pending:
        premise, depth = pending.pop()
        if not isinstance(premise, ExplanationStep):
            yield str(premise), depth
        elif id(premise) in shown_before and premise.premises:
            yield f"{premise} (as above)", depth
        else:
            shown_before.add(id(premise))
            yield _head(premise), depth
            pending += [(below, depth + 1) for below in reversed(_folded(premise, depth))]


def _folded(step: ExplanationStep, depth: int) -> Sequence[ExplanationStep | Absence | Note | str]:
    """Return the premises; below a long chain of one relation, the one where it ends is near."""
    if depth != _CHAIN:
        return step.premises
    chain = [step]
    while (below := [s for s in chain[-1].steps if s.relation == step.relation]) and not chain[-1].is_cut:
        chain.append(max(below, key=lambda s: s.height))
    if len(chain) <= _CHAIN:
        return step.premises
    return [f"… {len(chain) - 2:,} steps of {step.relation}", chain[-1]]


def _folds(root: ExplanationStep) -> Iterator[str]:
    """Nested <details>, from the lines of the tree."""
    lines, opened = list(_walk(root)), 0
    for (line, depth), (_, following) in zip(lines, [*lines[1:], ("", 0)], strict=True):
        yield "</details>" * (opened - depth)
        opened = depth
        if following > depth:
            yield f'<details{" open" * (depth < 2)} style="margin-left:1em"><summary>{html.escape(line)}</summary>'
            opened += 1
        else:
            yield f'<div style="margin-left:2em">{html.escape(line)}</div>'
    yield "</details>" * opened
