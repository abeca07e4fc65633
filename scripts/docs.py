"""Build the site of docs/ into site/: `make docs`. Exit status 1 where a link, an anchor or a reference leads nowhere.

The pages are copied to build/docs. Pages from elsewhere in the repository come beside them, and the folders of the
source are listed from their docstrings. Zensical makes the site, which needs no network.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "site"
FROM_ELSEWHERE = ("CONTRIBUTING.md", "CHANGELOG.md", "theory/STATEMENTS.md")
"""Pages of the site that are not in docs/."""
_ERROR = re.compile(r'<span class="gr">([^<]*)</span>: <span class="n">')
"""The class of an error in a session, which the copy button leaves out together with its message."""


def main() -> int:
    """The exit status of Zensical."""
    pages = BUILD / "docs"
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    for name in FROM_ELSEWHERE:
        text = (ROOT / name).read_text(encoding="utf-8")
        (pages / Path(name).name).write_text(re.sub(r"\]\((\.\./)?docs/", "](", text), encoding="utf-8")
    named = titles(pages)
    for page in pages.rglob("*.md"):
        text = with_titles(_between_pages(page.read_text(encoding="utf-8")), named)
        page.write_text(as_sessions(text), encoding="utf-8")
    with (pages / "CONTRIBUTING.md").open("a", encoding="utf-8") as page:
        page.write(
            "\n## Folders\n\n" + "\n".join(f"* `{folder}/`: {about}" for folder, about in folders().items()) + "\n"
        )
    shutil.copy(ROOT / "mkdocs.yml", BUILD)
    status = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"], cwd=BUILD, check=False
    ).returncode
    if status == 0:
        for page in (BUILD / "site").rglob("*.html"):
            html = page.read_text(encoding="utf-8")
            page.write_text(_ERROR.sub(r'<span class="gr">\1: ', html), encoding="utf-8")
        api = BUILD / "site" / "api.html"
        api.write_text(linked(api.read_text(encoding="utf-8"), named), encoding="utf-8")
        shutil.rmtree(ROOT / "site", ignore_errors=True)
        shutil.move(BUILD / "site", ROOT / "site")
    return status


def folders() -> dict[str, str]:
    """The folders of the source, with the first line of their docstrings."""
    source = ROOT / "src" / "deltic"
    texts = {
        init.parent: ast.get_docstring(ast.parse(init.read_text("utf-8"))) for init in source.rglob("*/__init__.py")
    }
    return {
        folder.relative_to(source).as_posix(): (text or "").partition("\n")[0] for folder, text in sorted(texts.items())
    }


def titles(pages: Path) -> dict[str, str]:
    """The title of each page, by its name without the suffix."""
    return {
        page.stem: page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in pages.glob("*.md")
    }


def with_titles(text: str, named: dict[str, str]) -> str:
    """A page whose links to other pages show titles where they showed names of files."""
    return re.sub(r"\[(?:docs/)?([\w-]+)\.md\]\(", lambda link: f"[{named.get(link[1], link[1])}](", text)


def as_sessions(text: str) -> str:
    """A page whose blocks with prompts are sessions of Python, from which the copy button takes what you type.

    A compound statement ends with an empty line there, as Python asks for one.
    """
    text = re.sub(r"^```py\w+\n(?=>>> )", "```pycon\n", text, flags=re.MULTILINE)
    return re.sub(r"^(>>> (?:with|for|if|def) .*\n(?:\.\.\. .*\n)+)(?=>>> )", r"\1...\n", text, flags=re.MULTILINE)


def linked(html: str, named: dict[str, str]) -> str:
    """The reference with links to the pages that docstrings name."""
    return re.sub(r"docs/([\w-]+)\.md", lambda name: f'<a href="{name[1]}.html">{named[name[1]]}</a>', html)


def _between_pages(text: str) -> str:
    """Links to pages from elsewhere as pages of the site; those to other files as names."""
    text = re.sub(r"\]\(\.\./(?:theory/)?((?:CONTRIBUTING|CHANGELOG|STATEMENTS)\.md)", r"](\1", text)
    return re.sub(
        r"\[([^]]*)\]\((?:\.\./|(?=src/|tests/|benchmarks/|examples/|theory/|extensions/|scripts/))([^)]*)\)",
        r"`\2`",
        text,
    )


if __name__ == "__main__":
    sys.exit(main())
