"""Functions of values of any type: what is NULL, casts by name, the greatest and the least."""

from __future__ import annotations

from functools import partial, reduce

from sqlglot import exp

from deltic.sql.scalars import conditions, operators
from deltic.sql.scalars.coercion import as_signed, can_coerce, coerced, unified
from deltic.sql.scalars.functions.rules import RULES, attempt, rule
from deltic.sql.scalars.operators import Mismatch, case
from deltic.sql.scalars.typed import Typed, applied, attempted, constant, of_node
from deltic.sql.types import written
from deltic.values.types import Type
from deltic.values.types.names import type_name as type_name_of

rule("coalesce")(lambda first, *others: conditions.coalesced([first, *others]))
rule("nvl", "ifnull")(lambda first, second: conditions.coalesced([first, second]))
rule("nullif")(conditions.null_if)
rule("isnull")(conditions.is_null)
rule("isnotnull")(lambda value: operators.logic(exp.Not, [conditions.is_null(value)]))
rule("equal_null")(lambda first, second: operators.comparison(exp.NullSafeEQ, first, second))
rule("nullifzero")(lambda value: conditions.null_if(value, constant(0, Type.INT32)))
rule("zeroifnull")(lambda value: conditions.coalesced([value, constant(0, Type.INT32)]))
rule("try_add")(lambda a, b: operators.arithmetic(exp.Add, a, b, attempted))
rule("try_subtract")(lambda a, b: operators.arithmetic(exp.Sub, a, b, attempted))
rule("try_multiply")(lambda a, b: operators.arithmetic(exp.Mul, a, b, attempted))
rule("try_divide")(lambda a, b: operators.arithmetic(exp.Div, a, b, attempted))
rule("try_mod")(lambda a, b: operators.arithmetic(exp.Mod, a, b, attempted))


@rule("nvl2")
def nvl2(value: Typed, present: Typed, absent: Typed) -> Typed:
    """One of two values: whether the first is NULL decides."""
    known = operators.logic(exp.Not, [conditions.is_null(value)])
    return conditions.chosen([known], [present], absent)


@rule("if")
def if_(condition: Typed, value: Typed, other: Typed) -> Typed:
    """One of two values: whether the condition is true decides."""
    return conditions.chosen([condition], [value], other)


@rule("decode")
def decode(value: Typed, *rest: Typed) -> Typed:
    """The result behind the first search that equals the value, both NULL included; or the bytes as text."""
    if len(rest) == 1 and value.type.type is Type.BINARY:
        return RULES["decode_bytes"](value, *rest)
    searches, results = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    tests = [operators.comparison(exp.NullSafeEQ, value, search) for search in searches]
    return conditions.chosen(tests, results, rest[-1] if len(rest) % 2 else None)


def _extreme(kind: type[exp.Expression], first: Typed, second: Typed, *others: Typed) -> Typed:
    """The extreme of the values that are not NULL."""
    same = unified([first, second, *others])
    if same is None or not same[0].type.type.is_ordered:
        raise Mismatch("the arguments have no type in common that has an order; cast them to one")
    return reduce(partial(_of_two, kind), same)


def _of_two(kind: type[exp.Expression], first: Typed, second: Typed) -> Typed:
    both = of_node(kind(this=first.expression.copy(), expressions=[second.expression.copy()]), first, second)
    return conditions.coalesced([both, first, second]) if both.type.nullable else both


rule("greatest")(partial(_extreme, exp.Greatest))
rule("least")(partial(_extreme, exp.Least))


@rule("typeof")
def type_name(value: Typed) -> Typed:
    """The name of the type, as Spark writes it."""
    name = "void" if value.is_null else written(value.type.type).lower().replace(", ", ",").replace(": ", ":")
    return constant(name, Type.STRING)


@rule("isnan")
def is_nan(value: Typed) -> Typed:
    """Whether a number is none; false for NULL."""
    number = coerced(value, Type.FLOAT64)
    nan = coerced(constant("NaN", Type.STRING), Type.FLOAT64)
    return conditions.is_boolean(applied(exp.EQ, number, nan), True)


@rule("nanvl")
def nanvl(value: Typed, other: Typed) -> Typed:
    """The value, or the other where it is NaN."""
    first, second = coerced(value, Type.FLOAT64), coerced(other, Type.FLOAT64)
    return case([(is_nan(first), second)], first)


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
    """A cast by the name of its type."""
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
