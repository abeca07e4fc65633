"""The `deltic` command, which is `python -m deltic`, too."""

from __future__ import annotations

import sys

from deltic.errors import DelticError
from deltic.extras import required


def main() -> None:
    """Run the command; say what to install where the packages that it needs are missing."""
    try:
        for package in ("typer", "rich"):
            required(package, "the deltic command")
    except DelticError as error:
        sys.exit(f"Error: {error}")
    from deltic.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
