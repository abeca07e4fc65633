"""Build the site of docs/ into site/: `make docs`. Exit status 1 where a link, an anchor or a reference leads nowhere.

The pages are copied to build/docs. CONTRIBUTING.md and CHANGELOG.md come beside them, and a page of the commands is
made from their help. Zensical makes the site, which needs no network.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "site"


def main() -> int:
    """The exit status of Zensical."""
    pages = BUILD / "docs"
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        (pages / name).write_text(_between_pages(text.replace("](docs/", "](")), encoding="utf-8")
    for page in pages.rglob("*.md"):
        page.write_text(_between_pages(page.read_text(encoding="utf-8")), encoding="utf-8")
    (pages / "commands.md").write_text(_commands(), encoding="utf-8")
    shutil.copy(ROOT / "mkdocs.yml", BUILD)
    status = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"], cwd=BUILD, check=False
    ).returncode
    if status == 0:
        shutil.rmtree(ROOT / "site", ignore_errors=True)
        shutil.move(BUILD / "site", ROOT / "site")
    return status


def _between_pages(text: str) -> str:
    """Links to CONTRIBUTING.md and CHANGELOG.md as pages of the site; those to other files as names."""
    text = re.sub(r"\]\(\.\./((?:CONTRIBUTING|CHANGELOG)\.md)", r"](\1", text)
    return re.sub(
        r"\[([^]]*)\]\((?:\.\./|(?=src/|tests/|benchmarks/|examples/|theory/|extensions/|scripts/))([^)]*)\)",
        r"`\2`",
        text,
    )


def _commands() -> str:
    """The help of every command."""
    told = subprocess.run(
        [sys.executable, "-m", "typer", "deltic.cli.main", "utils", "docs", "--name", "deltic", "--title", "Commands"],
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout


if __name__ == "__main__":
    sys.exit(main())
