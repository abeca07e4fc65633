"""The command line: commands and their options. Each imports its implementation when it runs, to keep --help quick."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from deltic import __version__
from deltic.cli.grouped import grouped
from deltic.cli.options import (
    DEFINITIONS,
    CheckOptions,
    ExplainOptions,
    Functions,
    Json,
    State,
    WhyOptions,
    folder,
    read_file,
)
from deltic.cli.run_options import RunOptions
from deltic.cli.serve_options import ServeOptions
from deltic.errors import DelticError

# Wrong usage of every kind; typer gives out this one of its kinds alone.
_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """The commands. Their errors are printed here; with --json, also as JSON on standard output."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        self._wants_json = "--json" in args
        with self._errors_shown():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with self._errors_shown():
            try:
                return super().invoke(ctx)
            except DelticError as error:
                from deltic.cli.report import report_error

                report_error(error, self._wants_json)
                raise typer.Exit(1) from error

    @contextmanager
    def _errors_shown(self) -> Iterator[None]:
        try:
            yield
        except _UsageError as error:
            if self._wants_json:
                report = {"kind": "UsageError", "epoch": None, "message": error.format_message(), "findings": []}
                print(json.dumps({"ok": False, "error": report}, indent=2, ensure_ascii=False))
            raise


app = typer.Typer(
    name="deltic",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Place = Annotated[str, typer.Argument(metavar="DIR", help="A directory of state, or its address.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"deltic {__version__}")
        raise typer.Exit


@app.callback()
def deltic(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keeps SQL and Datalog views, recursive ones too, fresh at the cost of each change."""


@app.command()
@grouped
def run(options: RunOptions) -> None:
    """Load facts, apply changes epoch by epoch, write views and their changes.

    With --state, a run continues where the last one ended, and skips facts and changes that were applied.
    """
    from deltic.cli.run import run_command

    raise typer.Exit(run_command(options))


@app.command()
@grouped
def explain(options: ExplainOptions) -> None:
    """Show how views are updated: costs, state, and the query for each change."""
    from deltic.cli.explain import explain_command

    explain_command(options)


@app.command()
@grouped
def why(options: WhyOptions) -> None:
    """Show why a view has a row, down to rows of tables, or why it has none."""
    from deltic.cli.why import why_command

    why_command(options)


@app.command()
@grouped
def check(options: CheckOptions) -> None:
    """Compare a program's costs with a checked-in file; exit status 1 if one is higher."""
    from deltic.cli.check import check_command

    raise typer.Exit(check_command(options))


@app.command()
def sql(
    files: Annotated[list[Path] | None, read_file("Files of statements.", False)] = None,
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="SQL", help="Statements to run after the files.")
    ] = None,
    state: State = None,
    functions: Functions = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Value of the parameter :NAME, JSON or text. May be repeated."),
    ] = None,
) -> None:
    """Run SQL from files, from a pipe, or interactively."""
    from deltic.cli.sql import sql_command

    sql_command(files or [], command, state, functions, arg or [])


@app.command()
def functions(
    name: Annotated[
        str | None, typer.Argument(help="A name in any language; default: all functions.", show_default=False)
    ] = None,
) -> None:
    """List functions, their names in each language, and what computes them."""
    from deltic.cli.functions import functions_command

    functions_command(name)


@app.command()
def refresh(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="YAML: program, state, sources, outputs, options.")
    ],
    full: Annotated[bool, typer.Option("--full", help="Read and compare all rows of sources and targets.")] = False,
    table: Annotated[list[str] | None, typer.Option(help="Read this table's source alone; repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be read and published.")] = False,
    as_json: Json = False,
) -> None:
    """Read new rows from sources as one epoch, and publish views; exit status 1 where a source failed."""
    from deltic.cli.refresh import refresh_command

    raise typer.Exit(refresh_command(file, full, table or None, dry_run, as_json))


@app.command()
@grouped
def serve(options: ServeOptions) -> None:
    """Serve live views by HTTP, with a console at /; see docs/server.md."""
    from deltic.cli.serve import serve_command

    serve_command(options)


@app.command()
def mcp(
    program: Annotated[Path | None, read_file(DEFINITIONS, "those of the state")] = None,
    state: State = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let agents change tables; then no other process may write to the state.")
    ] = False,
    functions: Functions = None,
) -> None:
    """Serve views to agents by the Model Context Protocol, on standard input and output."""
    from deltic.cli.serve import mcp_command

    mcp_command(program, state, write, functions)


@app.command()
def user(
    name: Annotated[str, typer.Argument(help="The name of a new user.")],
    role: Annotated[
        Literal["reader", "writer", "owner"],
        typer.Option(help="A reader asks, a writer changes tables, an owner defines."),
    ] = "reader",
    file: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The file of users to add it to.", show_default="print the entry"),
    ] = None,
) -> None:
    """Make a user of `deltic serve`, with a token for HTTP that is a password, too."""
    from deltic.cli.serve import user_command

    user_command(name, role, file)


@app.command()
def status(place: _Place, as_json: Json = False) -> None:
    """Show a directory of state: epoch, tables, views, sizes, log, checkpoints."""
    from deltic.cli.state import status_command

    status_command(place, as_json)


@app.command()
def verify(
    place: _Place,
    full: Annotated[bool, typer.Option("--full", help="Also recompute all views and compare.")] = False,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also recompute N random views and compare.", show_default="none")
    ] = 0,
    repair: Annotated[bool, typer.Option("--repair", help="Restore a damaged state from its intact files.")] = False,
    as_json: Json = False,
) -> None:
    """Check the files of a state against their checksums; exit status 1 on damage."""
    from deltic.cli.state import verify_command

    raise typer.Exit(verify_command(place, full, sample, repair, as_json))


@app.command()
def compact(place: _Place) -> None:
    """Rewrite a state in few files, without its log and older checkpoints."""
    from deltic.cli.state import compact_command

    compact_command(place)


@app.command()
def warmup() -> None:
    """Compile the engine's kernels now instead of at first use; wheels contain them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from deltic.engine.kernels.building import make
    from deltic.engine.kernels.loading import check_compiler, find

    console, library = Console(stderr=True), find()
    if library is None:
        check_compiler()
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("compiling kernels", total=None)
            library = make(lambda compiled, total: bar.update(task, completed=compiled, total=total))
    where = f", in {library}" if library else "; nothing here can link them"
    console.print(f"Kernels are compiled{where}", soft_wrap=True, highlight=False)


@app.command()
def demo(
    repo: Annotated[
        Path | None,
        folder("A git repository with Python files: each commit is an epoch.", "the standard library, with edits"),
    ] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for views and chart.")] = Path("demo-out"),
    commits: Annotated[int, typer.Option(min=1, help="With --repo: number of last commits.")] = 30,
    master: Annotated[str, typer.Option(help="Spark's master URL.")] = "local[*]",
    engine: Annotated[
        Literal["auto", "local", "spark"],
        typer.Option(help="Engine of the views; spark: shards, compared with Spark's recomputation."),
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Keep recursive views over real Python code fresh while the code is edited."""
    from deltic.demo.main import run as run_demo
    from deltic.engine.files.address import path_here

    raise typer.Exit(run_demo(str(repo) if repo else None, str(path_here(out)), commits, as_json, master, engine))


def main() -> None:
    """The entry point of the `deltic` command. SIGTERM ends it as Ctrl-C does, and removes temporary files."""
    signal.signal(signal.SIGTERM, _terminate)
    app()


def _terminate(number: int, _: object) -> None:
    """End the process by an exception; a second signal does not disturb its cleanup."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
