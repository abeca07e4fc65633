"""The options of commands in groups, each with its name, type, default and help."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Argument, BadParameter, Option

from deltic.cli.grouped import option

if TYPE_CHECKING:
    from deltic.pipeline.io.directives import TextForm
    from deltic.pipeline.session import Pipeline


ExplainFormat = Literal["text", "dot", "mermaid", "svg"]
"""How `deltic explain` shows circuits."""


def folder(told: str, default: str | bool = True, *names: str) -> Any:
    """Return an option whose value is a folder that exists."""
    return Option(*names, exists=True, file_okay=False, help=told, show_default=default)


def file(told: str, default: str | bool = True, dash: bool = False) -> Any:
    """Return an option whose value is a file that exists, or with `dash` standard input."""
    return Option(exists=True, dir_okay=False, allow_dash=dash, help=told, show_default=default)


def read_file(told: str, default: str | bool = True) -> Any:
    """Return an argument whose value is a file that is read."""
    return Argument(exists=True, dir_okay=False, readable=True, help=told, show_default=default)


DEFINITIONS = "All tables and views: SQL (.sql) or Datalog (.dl)."
Program = Annotated[Path, read_file("A program: SQL (.sql), Datalog (.dl), or --language.")]
ProgramOrState = Annotated[
    Path, Argument(exists=True, readable=True, help="A program: SQL (.sql), Datalog (.dl), or a directory of state.")
]
State = Annotated[
    str | None,
    Option(
        metavar="DIR",
        help="Store tables, views and definitions in this directory, or at an address such as s3://bucket/shop.",
        show_default="none, in memory",
    ),
]
Functions = Annotated[
    Path | None,
    Option(
        "--functions",
        "--functors",
        help="A Python module with functions, aggregates and operators for SQL and Datalog.",
        show_default="none",
    ),
]
Json = Annotated[bool, Option("--json", help="One JSON document on standard output.")]
Language = Annotated[
    str,
    Option(
        "--language",
        metavar="NAME",
        help="Language of the program: sql, datalog, or that of a package, such as ddlog.",
        show_default="by the file's suffix",
    ),
]
AllowOutside = Annotated[bool, Option("--allow-outside", help="Let the program name files outside --facts and --out.")]


@dataclass(frozen=True)
class TextOptions:
    """The form of delimited text that the program does not describe."""

    panel: ClassVar = "Files"

    headers: bool = option(False, "First lines name the columns, for tables without .input.", "--headers")
    rfc4180: bool = option(False, "Fields may be quoted, as spreadsheets write them.", "--rfc4180")

    @property
    def form(self) -> TextForm:
        """The same as options of files."""
        from deltic.pipeline.io.directives import TextForm

        return TextForm(self.headers, self.rfc4180)


@dataclass(frozen=True)
class ProgramOptions:
    """What completes the text of a program."""

    panel: ClassVar = "The program"

    functions: Functions = None
    define: list[str] | None = option(
        None,
        "Add #define NAME TEXT to Datalog programs. Several words, or repeated.",
        "--define",
        "-M",
        metavar="NAME[=TEXT]",
        shown="none",
    )
    pragma: list[str] | None = option(
        None,
        'Add .pragma "NAME" "VALUE" to Datalog programs: word-size=32, legacy. May be repeated.',
        "--pragma",
        "-P",
        metavar="NAME[=VALUE]",
        shown="none",
    )
    include_dir: list[Path] | None = option(
        None,
        "Folder of included files and modules. May be repeated.",
        "--include-dir",
        "-I",
        "-L",
        "--ddlog-library",
        exists=True,
        file_okay=False,
        metavar="DIR",
        shown="beside the including file",
    )

    @property
    def macros(self) -> dict[str, str]:
        """The macros of `--define`; as in C, 1 by default.

        One option may define several, as Soufflé's does: they are words. Raises BadParameter if one is not a name.
        """
        split = [word.partition("=") for text in self.define or () for word in _WORD.findall(text)]
        for name, sign, text in split:
            if not _MACRO.fullmatch(name):
                raise BadParameter(f"--define is NAME or NAME=TEXT, as in LIMIT=10; found {f'{name}{sign}{text}'!r}")
        return {name: text if sign else "1" for name, sign, text in split}

    @property
    def pragmas(self) -> dict[str, str]:
        """The pragmas of `--pragma`, with = or Soufflé's colon, and the folders of included files."""
        texts = (re.sub("[=:]", "=", text, count=1) for text in self.pragma or ())
        said = {name: value for name, _, value in (text.partition("=") for text in texts)}
        return said | ({"include-dir": os.pathsep.join(map(str, self.include_dir))} if self.include_dir else {})


_WORD = re.compile(r'(?:"(?:\\.|[^"\\])*"|\S)+')
"""A word, in which blanks stand in quotes."""

_MACRO = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class LoadingOptions:
    """How a program and the rows of its tables are read."""

    written: TextOptions = TextOptions()
    text: ProgramOptions = ProgramOptions()
    language: Language = ""

    def opened(self, program: Path, facts: Path | None, allow_outside: bool = False) -> Pipeline:
        """Return the pipeline of a directory of state, for reading, or of a program with the rows of a folder."""
        from deltic.pipeline.options import Durability
        from deltic.pipeline.session import Pipeline

        if not program.is_dir():
            return self.pipeline(program, facts, allow_outside)
        return Pipeline(state=program, functions=self.text.functions or (), durability=Durability(readonly=True))

    def pipeline(self, program: Path, facts: Path | None, allow_outside: bool = False) -> Pipeline:
        """Return a pipeline with a program, and the rows of a folder if there is one."""
        from deltic.pipeline.definitions.front_ends import front_end_of
        from deltic.pipeline.io.splits import ArrowReader
        from deltic.pipeline.job.job import load_facts, load_program
        from deltic.pipeline.session import Pipeline

        front, text = front_end_of(program, self.language), self.text
        pipeline = Pipeline(functions=text.functions or (), pragmas=text.pragmas)
        load_program(program, front, pipeline, text.macros, text.include_dir or ())
        if facts is not None:
            load_facts(front, facts, self.written.form, pipeline, ArrowReader(), allow_outside)
        return pipeline


@dataclass(frozen=True)
class ExplainOptions:
    """The command line of `deltic explain`."""

    program: ProgramOrState
    view: str | None = option(None, Argument(help="One view; default: all.", show_default=False))
    output_format: ExplainFormat = option("text", "Text, or a drawing for Graphviz, Mermaid, or as SVG.", "--format")
    full: bool = option(False, "With text: also circuits, derivations and all plans.", "--full")
    facts: Path | None = option(None, folder("A folder of rows: compute the views, and show the plan for them.", False))
    by: LoadingOptions = LoadingOptions()
    outside: AllowOutside = False


@dataclass(frozen=True)
class WhyOptions:
    """The command line of `deltic why`."""

    program: Annotated[
        str, Argument(help="A program: SQL (.sql), Datalog (.dl), or a directory of state; left out with --state.")
    ]
    row: str | None = option(
        None, Argument(metavar="ROW", help="""As in 'reaches("ada", "cyd")'; _ is any value. Or by column: x="ada".""")
    )
    state: Path | None = option(None, folder("A state, which has a program and rows.", "none"))
    facts: Path = option(Path(), folder("Folder of rows.", True, "--facts", "-F"))
    is_not: bool = option(False, "Explain why there is no such row.", "--not")
    as_json: Json = False
    as_dot: bool = option(False, "Print the explanation as a graph for Graphviz.", "--dot")
    as_svg: bool = option(False, "Print the explanation as a picture.", "--svg")
    missing: int | None = option(
        None, "Print the smallest sets of at most N rows that would make the row.", min=1, metavar="N"
    )
    depth: int | None = option(None, "Maximal height of the explanation.", min=1, shown="all")
    by: LoadingOptions = LoadingOptions()


@dataclass(frozen=True)
class CheckOptions:
    """The command line of `deltic check`."""

    program: Program
    facts: Path | None = option(None, folder("A folder of rows.", "no rows", "--facts", "-F"))
    state: Path | None = option(None, folder("A state to read rows from, without changing it.", "none"))
    changes: Path | None = option(None, folder("A folder of changes, epoch by epoch.", "none"))
    file: Path | None = option(None, "The file of costs.", dir_okay=False, shown="PROGRAM.costs.json")
    update: bool = option(False, "Write the file of costs instead of comparing.", "--update")
    slower: float | None = option(
        None, "Fail if an epoch takes this many times its seconds in the file.", min=1, shown="never"
    )
    by: LoadingOptions = LoadingOptions()
