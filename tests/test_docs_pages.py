"""The pages of docs/: their Python runs as printed, their links lead somewhere, the site shows all of them.

Catches an example that has gone stale, and a page or heading that was renamed.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import deltic

DOCS = Path(__file__).parents[1] / "docs"


ROOT = DOCS.parent
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def script(name):
    """A module of scripts/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


# Those of the other pages have no prompts: they need a session of Spark, or have a test of their own.
@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in "".join(python_blocks(page))])
def test_python_blocks_run_as_printed(page):
    """One after the other in one namespace, as a reader types them."""
    blocks = python_blocks(page)
    assert all(block.startswith(">>> ") for block in blocks)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    report: list[str] = []
    failed, attempted = doctest.DocTestRunner().run(example, out=report.append)
    assert attempted
    assert not failed, "\n" + "".join(report)


def test_the_picture_of_an_explanation_is_that_of_the_page():
    """`to_svg()` of the page's own explanation."""
    namespace: dict[str, Any] = {}
    example = doctest.DocTestParser().get_doctest("\n".join(python_blocks("why.md")), namespace, "why.md", None, 0)
    doctest.DocTestRunner().run(example, out=lambda _: None, clear_globs=False)
    drawn = example.globs["pipeline"].why("reaches", ("ada", "dan")).to_svg()
    assert (DOCS / "pictures" / "why.svg").read_text(encoding="utf-8") == drawn + "\n"


def anchors(page):
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*(f"../{page}" for page in ("README.md", *script("docs").FROM_ELSEWHERE)), *PAGES])
def test_links_lead_somewhere(page):
    path = (DOCS / page).resolve()
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)]*))?\)", prose):
        target = (path.parent / link).resolve() if link else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


def test_the_site_shows_every_page():
    shown = set(
        re.findall(r"(?:: |- )([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert shown == {*PAGES, *(Path(page).name for page in script("docs").FROM_ELSEWHERE)}


def test_the_site_links_by_titles_and_its_blocks_can_be_typed():
    docs = script("docs")
    named = docs.titles(DOCS)
    assert docs.with_titles("[sql.md](sql.md#views), [why](why.md)", named) == "[SQL](sql.md#views), [why](why.md)"
    typed = "```python\n>>> with a as b:\n...     b.c()\n>>> b\n1\n```\n"
    assert docs.as_sessions(typed) == "```pycon\n>>> with a as b:\n...     b.c()\n...\n>>> b\n1\n```\n"
    assert docs.linked("<p>see docs/sql.md.</p>", named) == '<p>see <a href="sql.html">SQL</a>.</p>'


def test_tables_from_the_code_are_up_to_date():
    assert list(script("tables").outdated()) == [], "run scripts/tables.py"


def test_the_page_of_the_api_has_every_name():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: deltic\.(\w+)$|^[|*] `(?:\w+=)?([A-Z]\w+)[(`]", page, re.MULTILINE)
    assert {name for names in named for name in names} - {""} == set(deltic.__all__) - {"__version__"}


def test_every_folder_says_what_it_is():
    """The site lists the folders with the first line of their docstrings."""
    assert [folder for folder, about in script("docs").folders().items() if not about] == []


def test_the_files_that_a_batch_passes_exist():
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    named = [name.replace("E/", "engine/executors/", 1) for name in re.findall(r"`([\w/]+/\w+\.py)`", page)]
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "src" / "deltic" / name).is_file()] == []
