"""Python operators and aggregates in rules: `@near[customer, shop](c, s)` and `@@energy x : { … }`.

The result of an operator on relations is a hidden relation, which rules read by atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltic.circuit.edges import ZSetType
from deltic.datalog.checks.checked import Application
from deltic.datalog.checks.declarations import Signatures, unknown_relation
from deltic.datalog.checks.stratification import Use
from deltic.datalog.checks.type_names import Findings, seen
from deltic.datalog.syntax.expressions import AGGREGATE, FUNCTOR, transform
from deltic.datalog.syntax.formulas import AggregateExpression, BodyAtom, OperatorAtom
from deltic.datalog.syntax.program import Clause, Item, Subsumption
from deltic.errors import count_of, did_you_mean
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.circuit.custom import CustomAggregate, CustomOperator, OfPython

_GIVE = "give one: `pipeline.function(...)`, `Pipeline(functions=...)` or `--functors module.py`"


@dataclass(frozen=True)
class Taken:
    """Statements with operators replaced by atoms, and the first mention of each operator by its relation's name."""

    items: list[Item]
    mentions: Mapping[str, OperatorAtom]
    operators: Mapping[str, CustomOperator]
    """The known operators, by the names of their relations."""

    @property
    def uses(self) -> list[Use]:
        """The relations that operators read; the sign of the dependency is unknown."""
        mentions = self.mentions.items()
        return [Use(name, given.name, 0, node.operator, node.span) for name, node in mentions for given in node.inputs]

    @property
    def types(self) -> dict[str, ZSetType]:
        """The relations that operators derive, as relations that Datalog has not declared."""
        return {name: ZSetType(custom.gives, True) for name, custom in self.operators.items()}


def take_python(items: Iterable[Item], functions: Mapping[str, OfPython], findings: Findings) -> Taken:
    """Return the statements with operators replaced by atoms, and aggregates by their names in circuits.

    Unknown functions and those that do not fit are reported.
    """
    mentions: dict[str, OperatorAtom] = {}
    operators: dict[str, CustomOperator] = {}

    def change(node: Any) -> Any:
        if isinstance(node, AggregateExpression) and node.function.startswith(AGGREGATE):
            own = _aggregate(node, functions, findings)
            return replace(node, entry=own.accumulator) if own else node
        if not isinstance(node, OperatorAtom):
            return node
        if node.relation not in mentions:
            mentions[node.relation] = node
            if custom := _operator(node, functions, findings):
                operators[node.relation] = custom
        return BodyAtom(node.relation, node.arguments, span=node.span)

    changed = [transform(item, change) if _may_call(item) else item for item in items]
    return Taken(changed, mentions, operators)


def _may_call(item: Item) -> bool:
    """Return whether a statement may use Python; facts are numerous and are not searched."""
    return isinstance(item, Clause | Subsumption) and FUNCTOR in item.span.text


def _operator(node: OperatorAtom, functions: Mapping[str, OfPython], findings: Findings) -> CustomOperator | None:
    result = functions.get(node.operator.lower())
    custom: CustomOperator | None = _of(result, "CustomOperator")
    if custom is None:
        message = f"there is no operator of Python `{node.operator}`"
        if result is not None:
            message = f"`{node.operator}` is a function of values, and no operator on relations"
        names = [name for name, each in functions.items() if _of(each, "CustomOperator")]
        findings.append(node.span.error(message, did_you_mean(node.operator, names) or _GIVE))
    elif len(custom.takes) != len(node.inputs):
        message = f"`@{node.operator}` takes {len(custom.takes)} relations, but here {len(node.inputs)} "
        message += f"{'is' if len(node.inputs) == 1 else 'are'} given"
        findings.append(node.span.error(message, f"it takes {'; '.join(map(_shown, custom.takes))}"))
        return None
    return custom


def _aggregate(
    node: AggregateExpression, functions: Mapping[str, OfPython], findings: Findings
) -> CustomAggregate | None:
    name = node.function.removeprefix(AGGREGATE)
    own: CustomAggregate | None = _of(functions.get(name.lower()), "CustomAggregate")
    if own is None:
        names = [each for each, result in functions.items() if _of(result, "CustomAggregate")]
        hint = did_you_mean(name, names) or _GIVE
        findings.append(node.span.error(f"there is no aggregate of Python `{name}`", hint))
        return None
    takes, count, misfit = f"`{node.function}` takes {_shown(own.of)}", len(node.targets), None
    if len(own.results) != 1 or any(column.nullable for column in own.of):
        hint = "in Datalog an aggregate takes no NULL and returns one value"
        misfit = f"{takes} and returns {_shown(own.results)}", hint
    elif len(own.of) != count:
        hint = f"write {_call(node.function, own.of)} : {{ ... }}"
        misfit = f"{takes}, but here {count_of(count, 'value')}", hint
    elif any(seen(column.type) is not column.type for column in (*own.of, *own.results)):
        misfit = f"{takes} and returns {_shown(own.results)}", "numbers of Datalog are int64, uint64 and float64"
    if misfit:
        findings.append(node.span.error(*misfit))
    return None if misfit else own


def check_applications(
    taken: Taken, signatures: Signatures, others: Mapping[str, ZSetType], word_size: int, findings: Findings
) -> dict[str, Application]:
    """Return the applications of operators; unknown input relations and wrong columns are reported."""
    for name, node in taken.mentions.items():
        takes = taken.operators[name].takes if name in taken.operators else [None] * len(node.inputs)
        for mention, wanted in zip(node.inputs, takes, strict=True):
            signature = signatures.get(mention.name)
            if signature is None:
                findings.append(mention.span.error(*unknown_relation(mention.name, signatures)))
            elif wanted and None not in signature.types:
                known = others.get(mention.name)
                there = signature.schema(word_size) if known is None else _as_seen(known.schema, word_size)
                if misfit := _misfit(there, wanted):
                    hint = f"`@{node.operator}` takes {_shown(wanted)} here"
                    findings.append(mention.span.error(f"`{mention.name}` {misfit}", hint))
    return {
        name: Application(custom, tuple(given.name for given in taken.mentions[name].inputs), taken.mentions[name].span)
        for name, custom in taken.operators.items()
    }


def _misfit(there: Schema, wanted: Schema) -> str:
    """Return why the columns of a relation do not fit an operator, whatever their names; "" if they do."""
    if len(there) != len(wanted):
        return f"has {count_of(len(there), 'attribute')}"
    for own, column in zip(there, wanted, strict=True):
        if own.type is not column.type:
            return f"has {own.type} in `{own.name}`"
        if own.nullable and not column.nullable:
            return f"may have NULL in `{own.name}`"
    return ""


def _as_seen(schema: Schema, word_size: int) -> Schema:
    """Return the columns with the types that rules and operators see."""
    return Schema(tuple(replace(column, type=seen(column.type, word_size)) for column in schema))


def _shown(schema: Schema) -> str:
    return f"({', '.join(f'{column.name}: {column.value_type}' for column in schema)})"


def _call(function: str, of: Schema) -> str:
    return f"{function}({', '.join(of.names)})" if of.names[1:] else f"{function} {of.names[0]}"


def _of(function: object, kind: str) -> Any:
    """Return the function, if it is of that class, else None; the class is imported only for a function."""
    if function is None:
        return None
    return function if isinstance(function, getattr(import_module("deltic.circuit.custom"), kind)) else None
