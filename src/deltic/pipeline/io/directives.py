"""What a program's directives say about its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deltic.catalog import Catalog
from deltic.circuit.types import Schema
from deltic.datalog import CheckedProgram, Directive, Relation
from deltic.errors import Diagnostic, ProgramError
from deltic.pipeline.io.locate import Input
from deltic.sql.statements.program import FRONT as SQL


@dataclass(frozen=True)
class Output:
    """How the program wants the rows of a relation to be written."""

    name: str
    schema: Schema
    filename: str | None = None
    delimiter: str = "\t"
    headers: bool = False
    rfc4180: bool = False


@dataclass(frozen=True)
class Interface:
    """The files of a program: how each table is read, what is written, whose sizes are printed."""

    inputs: tuple[Input, ...]
    """In the order of the tables; one for each `.input`, all of which are read, or one for a table without."""
    outputs: tuple[Output, ...]
    sizes: tuple[str, ...]

    @property
    def watched(self) -> tuple[str, ...]:
        """The relations that the user asked to see, each once."""
        return tuple(dict.fromkeys([*(output.name for output in self.outputs), *self.sizes]))


def interface(program: CheckedProgram) -> Interface:
    """The files of a program; without .output and .printsize every view is written.

    Raises ProgramError for a directive that Deltic does not follow.
    """
    findings = [finding for directive in program.directives for finding in _unsupported(directive)]
    if findings:
        raise ProgramError(findings)
    tables = (relation for relation in program.relations.values() if relation.is_table)
    inputs = tuple(dict.fromkeys(source for table in tables for source in _inputs(table, program.directives)))
    outputs = tuple(
        _output(d.relation, program.relations[d.relation].schema, d) for d in program.directives if d.kind == "output"
    )
    sizes = tuple(d.relation for d in program.directives if d.kind == "printsize")
    if not outputs and not sizes:
        outputs = tuple(Output(r.name, r.schema) for r in program.relations.values() if r.is_derived)
    return Interface(inputs, outputs, sizes)


def sql_interface(catalog: Catalog) -> Interface:
    """The files of a program of SQL: a table has those that are named as it is, and every view is written."""
    tables = (table for table in catalog.tables.values() if catalog.front(table.name) == SQL)
    inputs = tuple(Input(table.name, table.schema, required=False, key=table.key) for table in tables)
    outputs = tuple(Output(name, schema) for name, schema in catalog.view_schemas.items())
    return Interface(inputs, outputs, ())


def _inputs(table: Relation, directives: Sequence[Directive]) -> Iterator[Input]:
    found = [d.options for d in directives if d.kind == "input" and d.relation == table.name]
    for options in found or [{}]:
        yield Input(
            table.name,
            table.schema,
            options.get("filename"),
            options.get("delimiter"),
            options.get("headers") == "true",
            options.get("rfc4180") == "true",
            required=bool(found),
        )


def _output(name: str, schema: Schema, directive: Directive) -> Output:
    options = directive.options
    rfc4180 = options.get("rfc4180") == "true"
    delimiter = options.get("delimiter", "," if rfc4180 else "\t")
    return Output(name, schema, options.get("filename"), delimiter, options.get("headers") == "true", rfc4180)


def _unsupported(directive: Directive) -> Iterator[Diagnostic]:
    """What a directive asks for that would be done differently from what it says."""
    options = directive.options
    if options.get("IO", "file") != "file":
        yield directive.span.error(f"IO={options['IO']} is not supported", "the only device is IO=file")
    if "columns" in options:
        yield directive.span.error("the option columns is not supported", "let the file have the relation's columns")
    if directive.kind == "output" and options.get("compress") == "true":
        yield directive.span.error("the option compress is not supported", "--format parquet writes compressed files")
    if options.get("rfc4180") == "true" and len(options.get("delimiter", ",")) != 1:
        yield directive.span.error(
            "with rfc4180 the delimiter is one character", f"it is {options['delimiter']!r} here"
        )
    if options.get("rfc4180") == "true" and options.get("delimiter") == '"':
        yield directive.span.error("with rfc4180 the delimiter cannot be the quote")
