"""The Python of the README, of the pages of docs/ and of examples/ is well-typed.

Catches an example that a type checker rejects.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[1]
_OF_THEORY = "theory.md"  # about the package deltic_theory, whose values have any type

_OF_SCHEDULERS = "schedulers"  # import packages that the tests do not install


def examples(page: Path) -> str:
    """What is typed, but for what raises."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    typed = doctest.DocTestParser().get_examples("\n".join(blocks))
    return "".join(each.source for each in typed if each.exc_msg is None)


@pytest.mark.slow
def test_examples_are_well_typed(tmp_path):
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        if page.name != _OF_THEORY and (code := examples(page)):
            (tmp_path / f"{page.stem.lower().replace('-', '_')}.py").write_text(code, encoding="utf-8")
    for path in (ROOT / "examples").rglob("*.py"):
        if path.parent.name == _OF_SCHEDULERS:
            continue
        (tmp_path / f"example_{path.stem.strip('_')}.py").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    loose = ("--allow-untyped-defs", "--allow-untyped-calls", "--allow-any-generics", "--no-strict-optional")
    config = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"))
    report, failed, status = api.run([*config, *loose, "--allow-redefinition", str(tmp_path)])
    assert (report.splitlines()[:-1], failed, status) == ([], "", 0)
