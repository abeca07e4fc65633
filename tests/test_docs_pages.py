"""Pages of docs/ whose Python runs as printed. Catches an example that has gone stale."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["transactions.md", "data.md", "refresh.md", "extending.md", "why.md"])
def test_python_blocks_run_as_printed(page):
    """One after the other in one namespace, as a reader types them."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    assert all(block.startswith(">>> ") for block in blocks)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    told: list[str] = []
    failed, attempted = doctest.DocTestRunner().run(example, out=told.append)
    assert attempted
    assert not failed, "\n" + "".join(told)


def test_the_map_of_the_source_is_true():
    """Every folder has its line, in the words of its own docstring."""
    source = DOCS.parent / "src" / "deltic"
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\* `([\w/]+)/`: (.*)$", page, re.MULTILINE))
    folders = {init.parent.relative_to(source).as_posix(): init for init in source.rglob("*/__init__.py")}
    said = {name: ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) for name, init in folders.items()}
    assert told == {name: (text or "").partition("\n")[0] for name, text in said.items()}
