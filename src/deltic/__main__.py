"""The `deltic` command, also as `python -m deltic`."""

from __future__ import annotations

import sys

from deltic.errors import DelticError
from deltic.extras import required


def main() -> None:
    """Run the command; name the extra to install where a package is missing."""
    try:
        for package in ("typer", "rich"):
            required(package, "the deltic command")
    except DelticError as error:
        sys.exit(f"Error: {error}")
    from deltic.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
