"""Pages of docs/ whose Python runs as printed. Catches an example that has gone stale."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["transactions.md", "data.md", "refresh.md", "extending.md", "ddlog.md"])
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
