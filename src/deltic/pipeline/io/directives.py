"""The files of a program according to its directives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deltic.catalog import Catalog
from deltic.datalog import CheckedProgram, CheckedRelation, Directive
from deltic.errors import Diagnostic, ProgramError, count_of
from deltic.pipeline.io.locate import RelationFile, TableInput
from deltic.values.types import Schema


@dataclass(frozen=True)
class Output(RelationFile):
    """How the program wants the rows of a relation to be written."""

    delimiter: str = "\t"
    structures: Mapping[str, str] | None = None
    """The families of structure columns, if values are written as Soufflé prints them."""
    objects: bool = False
    """Whether rows of JSON are objects instead of lists."""
    compress: bool = False
    header: str = ""
    """The first line of delimited text with headers, if it is not made of the columns' names."""


@dataclass(frozen=True)
class TextForm:
    """The default form of delimited text: with headers, with quoted fields."""

    headers: bool = False
    rfc4180: bool = False


PLAIN = TextForm()

# The devices that are files, and the options that name them.
_FILES = ("file", "jsonfile", "sqlite")
_NAMES = ("filename", "dbname", "name")


@dataclass(frozen=True)
class Interface:
    """The files of a program: how each table is read, which relations are written, and whose sizes are printed."""

    inputs: tuple[TableInput, ...]
    """In the order of the tables; one for each `.input`, all of which are read, or one for a table without."""
    outputs: tuple[Output, ...]
    sizes: tuple[str, ...]

    @property
    def watched(self) -> tuple[str, ...]:
        """The relations that the user asked to see, without repetitions."""
        return tuple(dict.fromkeys([*(output.name for output in self.outputs), *self.sizes]))

    def reading(self, text: TextForm) -> Interface:
        """Return a copy in which tables without `.input` have this form of text."""

        def with_form(source: TableInput) -> TableInput:
            return replace(source, by_name=text.headers, rfc4180=text.rfc4180)

        return replace(self, inputs=tuple(each if each.as_souffle else with_form(each) for each in self.inputs))


def interface(program: CheckedProgram) -> Interface:
    """Return the files of a program. Without .output and .printsize every view is written.

    Raises ProgramError for an invalid directive.
    """
    findings = [
        finding
        for directive in program.directives
        if directive.relation in program.relations
        for finding in _unfit(directive, program.relations[directive.relation].schema)
    ]
    findings += _shared_stdin(program.directives)
    if findings:
        raise ProgramError(findings)
    tables = (relation for relation in program.relations.values() if relation.is_table)
    inputs = tuple(dict.fromkeys(source for table in tables for source in _inputs(table, program.directives)))
    outputs = tuple(
        _output(program.relations[d.relation], d) for d in program.directives if d.kind == "output" and not _is_size(d)
    )
    sizes = tuple(d.relation for d in program.directives if d.kind == "printsize" or _is_size(d))
    if not outputs and not sizes:
        derived = (relation for relation in program.relations.values() if relation.is_derived)
        outputs = tuple(Output(r.name, r.schema, structures=r.structures) for r in derived)
    return Interface(inputs, outputs, sizes)


def catalog_interface(catalog: Catalog) -> Interface:
    """Return the files of a program without directives: each table has the file of its name; all views are written."""
    tables = catalog.shown_tables.values()
    inputs = tuple(TableInput(table.name, table.schema, required=False, key=table.key) for table in tables)
    outputs = tuple(Output(name, schema) for name, schema in catalog.view_schemas.items())
    return Interface(inputs, outputs, ())


def _shared_stdin(directives: Sequence[Directive]) -> Iterator[Diagnostic]:
    """Yield errors if several relations are read from standard input."""
    readers = [d for d in directives if d.kind == "input" and d.options.get("IO") in ("stdin", "json")]
    for directive in readers[1:]:
        first = f"`{readers[0].relation}` at {readers[0].span.place}"
        yield directive.span.error("standard input is read by one relation alone", f"it is read by {first}")


def _inputs(table: CheckedRelation, directives: Sequence[Directive]) -> Iterator[TableInput]:
    result = [d.options for d in directives if d.kind == "input" and d.relation == table.name]
    for options in result or [{}]:
        yield TableInput(
            **_common(table, options),
            delimiter=options.get("delimiter"),
            required=bool(result),
            places=tuple(map(int, options["columns"].split(":"))) if "columns" in options else (),
            as_souffle=bool(result),
            structures=tuple(table.structures.items()),
        )


def _output(relation: CheckedRelation, directive: Directive) -> Output:
    options = directive.options
    common = _common(relation, options)
    return Output(
        **common,
        delimiter=options.get("delimiter", "," if common["rfc4180"] else "\t"),
        structures=relation.structures,
        objects=options.get("format") == "object",
        compress=options.get("compress") == "true",
        header=options.get("attributeNames", ""),
    )


def _common(relation: CheckedRelation, options: Mapping[str, str]) -> dict[str, Any]:
    """Return what a `RelationFile` says, but the delimiter."""
    return {
        "name": relation.name,
        "schema": relation.schema,
        "filename": options.get("filename", options.get("dbname")),
        "headers": options.get("headers") == "true",
        "rfc4180": options.get("rfc4180") == "true",
        "device": options.get("IO", "file"),
        "called": options.get("name", ""),
        "records": relation.records,
    }


def _is_size(directive: Directive) -> bool:
    """Return whether the number of rows is printed instead of the rows."""
    return directive.kind == "output" and directive.options.get("IO") == "stdoutprintsize"


def _unfit(directive: Directive, schema: Schema) -> Iterator[Diagnostic]:
    """Yield errors in the combination of a directive's options, or for its relation."""
    options = directive.options
    device = options.get("IO", "file")
    if (directive.kind, device) in _OTHER_WAY:
        yield directive.span.error(f"IO={device} is not for .{directive.kind}", _OTHER_WAY[directive.kind, device])
    if options.get("rfc4180") == "true" and len(options.get("delimiter", ",")) != 1:
        yield directive.span.error(
            "with rfc4180 the delimiter is one character", f"it is {options['delimiter']!r} here"
        )
    if options.get("rfc4180") == "true" and options.get("delimiter") == '"':
        yield directive.span.error("with rfc4180 the delimiter cannot be the quote")
    if "columns" in options:
        yield from _unfit_columns(directive, options["columns"], schema)


_OTHER_WAY = {
    ("input", "stdout"): "rows are read from IO=stdin",
    ("input", "stdoutprintsize"): "rows are read from IO=stdin",
    ("output", "stdin"): "rows are written to IO=stdout",
}


def _unfit_columns(directive: Directive, columns: str, schema: Schema) -> Iterator[Diagnostic]:
    places = [int(place) for place in columns.split(":")]
    if directive.kind != "input":
        yield directive.span.error("the option columns is for .input alone", "write a relation of these columns")
    elif len(places) != len(schema) or len(set(places)) != len(places):
        wanted = f"{len(schema)} different fields" if len(schema) != 1 else "one field"
        yield directive.span.error(
            f"columns={columns} does not say where the columns of `{directive.relation}` are",
            f"it has {count_of(len(schema), 'column')}: name {wanted}, counted from 0",
        )


def check_inside(directives: Iterable[Directive], facts: Path, out: Path | None) -> None:
    """Raise ProgramError if `.input` leads out of its folder, or `.output` out of its own.

    The program may come from someone else. Links within a folder belong to its owner, and are followed.
    """
    folders = {"input": (facts, "--facts"), "output": (out, "--out")}
    findings = []
    for directive in directives:
        folder, option = folders.get(directive.kind, (None, ""))
        if folder is None or directive.options.get("IO", "file") not in _FILES:
            continue
        names = [directive.options[key] for key in _NAMES if key in directive.options]
        findings += [
            directive.span.error(
                f"`{name}` stands outside of {option}, the folder {folder}",
                "name a file in that folder; --allow-outside lets a program that you trust read and write elsewhere",
            )
            for name in names
            if not _is_inside(name, folder)
        ]
    if findings:
        raise ProgramError(findings)


def _is_inside(name: str, folder: Path) -> bool:
    path = folder / name
    if ".." in Path(name).parts:
        path, folder = path.resolve(), folder.resolve()
    return path.absolute().is_relative_to(folder.absolute())
