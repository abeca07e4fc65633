"""`deltic warmup`: compile the kernels before they are needed."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def warmup_command() -> None:
    """Compile missing kernels, with a progress bar on a terminal."""
    from deltic.engine.kernels.building import make
    from deltic.engine.kernels.loading import check_compiler, find

    console = Console(stderr=True)
    library = find()
    if library is None:
        check_compiler()
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("compiling kernels", total=None)
            library = make(lambda compiled, total: bar.update(task, completed=compiled, total=total))
    console.print(
        f"Kernels are compiled, in {library}" if library else "Kernels are compiled; nothing here can link them",
        soft_wrap=True,
        highlight=False,
    )
