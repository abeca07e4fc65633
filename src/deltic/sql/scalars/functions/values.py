"""Functions of values of any type: NULL tests, casts by name, the greatest and the least."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce

from sqlglot import exp

from deltic.sql.scalars import conditions, operators
from deltic.sql.scalars.coercion import as_signed, can_coerce, coerced, mixes_texts, open_type, unified
from deltic.sql.scalars.functions.rules import attempt, rule
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import NULL, Typed, attempted, constant, in_common, of_node
from deltic.sql.types import simple_string, written
from deltic.values.types import Type
from deltic.values.types.names import type_name as type_name_of

rule("coalesce")(lambda first, *others: conditions.coalesced([first, *others]))
rule("nullif")(conditions.null_if)
rule("isnull")(conditions.is_null)
rule("try_add")(lambda a, b: operators.arithmetic(exp.Add, a, b, attempted))
rule("try_subtract")(lambda a, b: operators.arithmetic(exp.Sub, a, b, attempted))
rule("try_multiply")(lambda a, b: operators.arithmetic(exp.Mul, a, b, attempted))
rule("try_divide")(lambda a, b: operators.arithmetic(exp.Div, a, b, attempted))
rule("try_mod")(lambda a, b: operators.arithmetic(exp.Mod, a, b, attempted))


@rule("if")
def if_(condition: Typed, value: Typed, other: Typed) -> Typed:
    """One of two values: whether the condition is true decides."""
    return conditions.chosen([condition], [value], other)


@rule("decode")
def decode(value: Typed, *rest: Typed) -> Typed:
    """The result after the first search that equals the value, both NULL included."""
    if len(rest) < 2:
        raise Mismatch("decode takes a value, searches and results, or bytes and a charset")
    searches, results = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    tests = [operators.comparison(exp.NullSafeEQ, value, search) for search in searches]
    return conditions.chosen(tests, results, rest[-1] if len(rest) % 2 else None)


def _extreme(kind: type[exp.Expression], first: Typed, second: Typed, *others: Typed) -> Typed:
    """Return the extreme of the values that are not NULL."""
    values = [first, second, *others]
    if all(value.is_null for value in values):
        return NULL
    same = None if mixes_texts(map(open_type, values)) else unified(values)
    if same is None or not same[0].type.type.is_ordered:
        raise Mismatch("the arguments have no type in common that has an order; cast them to one")
    return reduce(partial(_of_two, kind), same)


def _of_two(kind: type[exp.Expression], first: Typed, second: Typed) -> Typed:
    if first.is_collated:
        test = exp.GTE if kind is exp.Greatest else exp.LTE
        is_first = operators.comparison(test, first, second)
        none = [(conditions.is_null(first), second), (conditions.is_null(second), first)]
        return operators.case([*none, (is_first, first)], second)
    node = kind(this=first.expression.copy(), expressions=[second.expression.copy()])
    both = replace(of_node(node, first, second), modifier=in_common([first, second]))
    return conditions.coalesced([both, first, second]) if both.type.nullable else both


rule("greatest")(partial(_extreme, exp.Greatest))
rule("least")(partial(_extreme, exp.Least))


@rule("typeof")
def type_name(value: Typed) -> Typed:
    """The name of the type, as Spark writes it."""
    name = "void" if value.is_null else simple_string(open_type(value), value.modifier)
    return constant(name, Type.STRING)


def _hash(name: str, first: Typed, *others: Typed) -> Typed:
    """One number for several values of any types but maps."""
    parts: list[Typed] = []
    for value in (first, *others):
        own = coerced(value, Type.BOOLEAN if value.is_null else as_signed(value.type.type))
        if not own.type.type.is_ordered:
            raise Mismatch("the entries of a map have no order to be hashed in; sort its map_entries")
        parts += [constant(type_name_of(own.type.type), Type.STRING), own]
    return attempt(name, *parts)


rule("hash")(partial(_hash, "hash"))
rule("xxhash64")(partial(_hash, "xxhash64"))


def _cast(target: Type, value: Typed) -> Typed:
    """Return a cast by the name of its type."""
    if not can_coerce(value, target):
        raise Mismatch(f"a {written(as_signed(value.type.type))} cannot be cast to {written(target)}")
    return coerced(value, target)


_NAMED = {
    "boolean": Type.BOOLEAN,
    "tinyint": Type.INT8,
    "smallint": Type.INT16,
    "int": Type.INT32,
    "bigint": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "decimal": Type.decimal(10),
    "string": Type.STRING,
    "binary": Type.BINARY,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
}
for _name, _type in _NAMED.items():
    rule(_name)(partial(_cast, _type))
