"""Rules of functions that convert structs to lines of CSV, and lines to structs of a named type."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.functions.csv import fields_of, type_of_text
from deltic.sql.scalars import conditions, operators
from deltic.sql.scalars.coercion import coerced, converted
from deltic.sql.scalars.functions.collections import field, struct
from deltic.sql.scalars.functions.definitions import KINDS
from deltic.sql.scalars.functions.records import pairs_of, schema_named
from deltic.sql.scalars.functions.rules import RULES, apply, attempt, literal_of, must, plain, rule, to, where_present
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import NULL, Typed, constant
from deltic.values.types import Kind, Type

TEXT, INT = Type.STRING, Type.INT32
_TIMES = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
_WRITTEN = {Type.TIMESTAMP: "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", Type.TIMESTAMP_NTZ: "yyyy-MM-dd'T'HH:mm:ss.SSS"}


@dataclass(frozen=True)
class CsvOptions:
    """How lines are written, by the names of Spark's options in lower case."""

    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    nullvalue: str = ""
    quoteall: str = "false"
    mode: str = "PERMISSIVE"
    columnnameofcorruptrecord: str = "_corrupt_record"
    dateformat: str = ""
    timestampformat: str = ""

    @classmethod
    def of(cls, options: Typed | None) -> CsvOptions:
        """Return the options in a map; Mismatch for an unknown one."""
        chosen = {name.lower().replace("delimiter", "sep"): value for name, value in pairs_of(options)}
        known = list(cls.__dataclass_fields__)
        if unknown := [name for name in chosen if name not in known]:
            raise Mismatch(f"there is no option {unknown[0]} here; the options are {', '.join(known)}")
        result = cls(**chosen)
        if not result.sep or len(result.quote) != 1 or len(result.escape) != 1:
            raise Mismatch("quote and escape are one letter, and sep has one or more")
        if result.mode.upper() not in ("PERMISSIVE", "FAILFAST") or result.quoteall.lower() not in ("true", "false"):
            raise Mismatch("mode is PERMISSIVE or FAILFAST, and quoteAll true or false")
        return result

    def pattern(self, type_: Type) -> str:
        """Return the pattern of dates or times that is asked for, or none."""
        return self.dateformat if type_ is Type.DATE else self.timestampformat if type_ in _TIMES else ""

    @property
    def signs(self) -> list[Typed]:
        """The delimiter, the quotes, and the text for NULL."""
        return [constant(text, TEXT) for text in (self.sep, self.quote, self.escape, self.nullvalue)]


@rule("from_csv", of="fields_of_csv get")
def from_csv(text: Typed, schema: Typed, options: Typed | None = None) -> Typed:
    """The struct of a line; a field is NULL if its text does not fit its type."""
    how = CsvOptions.of(options)
    type_, modifier = schema_named(literal_of(schema, "the schema of from_csv"))
    if type_.kind is not Kind.STRUCT or any(column.type.is_composite for column in type_.fields):
        raise Mismatch("the schema of from_csv has columns of simple types, as 'a INT, b STRING'")
    line = to(text, TEXT)
    parts = apply("fields_of_csv", line, *how.signs)
    columns = [column for column in type_.fields if column.name != how.columnnameofcorruptrecord]
    texts = [attempt("get", parts, constant(i, INT)) for i in range(len(columns))]
    values = {c.name: _read(part, c.type, how) for c, part in zip(columns, texts, strict=True)}
    bad = [_is_bad(part, values[column.name]) for column, part in zip(columns, texts, strict=True)]
    count = operators.comparison(exp.NEQ, RULES["size"](parts), constant(len(columns), INT))
    is_bad = operators.logic(exp.Or, [count, *bad])
    malformed = line if how.mode.upper() == "PERMISSIVE" else coerced(must("raised", line), TEXT)
    corrupt = conditions.chosen([is_bad], [malformed], None)
    if how.mode.upper() == "FAILFAST":
        values = {n: conditions.chosen([conditions.is_null(corrupt)], [value], None) for n, value in values.items()}
    made = struct([c.name for c in type_.fields], [values.get(c.name, corrupt) for c in type_.fields])
    return replace(where_present(made, line), modifier=modifier)


def _is_bad(text: Typed, value: Typed) -> Typed:
    return operators.logic(exp.And, [operators.logic(exp.Not, [conditions.is_null(text)]), conditions.is_null(value)])


def _read(text: Typed, type_: Type, how: CsvOptions) -> Typed:
    """Return a field's text as a value of a type; NULL if it does not fit."""
    if type_ is TEXT:
        return text
    if pattern := how.pattern(type_):
        name = "try_to_date" if type_ is Type.DATE else "try_to_timestamp"
        return converted(RULES[name](text, constant(pattern, TEXT)), type_)
    if type_.kind is Kind.DECIMAL:
        text = plain("replace", [text, constant(",", TEXT)])
    form = _FORMS.get(type_.kind)
    if form is None:
        return converted(text, type_)
    return conditions.chosen([apply("rlike", text, constant(form, TEXT))], [converted(text, type_)], None)


_FORMS = {
    **dict.fromkeys((Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64), "^[+-]?[0-9]+$"),
    Kind.DECIMAL: r"^\S+$",
    Kind.BOOLEAN: "(?i)^(true|false)$",
}
"""The form of texts that Spark's CSV takes for values of a type, where it takes fewer than a CAST."""


@rule("to_csv", of="line_of_csv")
def to_csv(value: Typed, options: Typed | None = None) -> Typed:
    """The line of a struct's fields."""
    how, type_ = CsvOptions.of(options), value.type.type
    if value.is_null or type_.kind is not Kind.STRUCT:
        raise Mismatch("to_csv takes a struct")
    texts = [_written(field(value, column.name), how) for column in type_.fields]
    quoted = constant(how.quoteall.lower() == "true", Type.BOOLEAN)
    return where_present(attempt("line_of_csv", *how.signs, quoted, *texts), value)


def _written(value: Typed, how: CsvOptions) -> Typed:
    """Return a field as text."""
    type_ = value.type.type
    if type_ is Type.BINARY:
        raise Mismatch("to_csv takes no BINARY; write base64(x)")
    if pattern := how.pattern(type_) or _WRITTEN.get(type_, ""):
        return apply("date_format", to(value, Type.TIMESTAMP), KINDS["writable"](constant(pattern, TEXT), "to_csv"))
    return coerced(NULL if value.is_null else value, TEXT)


@rule("schema_of_csv", of="core")
def schema_of_csv(text: Typed, options: Typed | None = None) -> Typed:
    """The type of a literal line, as a schema for from_csv."""
    how = CsvOptions.of(options)
    line = literal_of(text, "the text of schema_of_csv")
    if not line:
        raise Mismatch("the text is no line of CSV")
    parts = fields_of(line, how.sep, how.quote, how.escape, how.nullvalue)
    columns = ", ".join(f"_c{i}: {type_of_text(part)}" for i, part in enumerate(parts))
    return constant(f"STRUCT<{columns}>", TEXT)
