"""What the README shows is what happens: its Python runs as printed, its commands exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_every_python_block_has_prompts():
    """A block without them would not be run, and so could say anything."""
    assert BLOCKS
    assert all(block.startswith(">>> ") for block in BLOCKS)


def test_python_blocks_run_as_printed():
    """One after the other in one namespace, as a reader types them."""
    run("\n".join(BLOCKS))


def run(code: str) -> None:
    """What is typed gives what is printed."""
    example = doctest.DocTestParser().get_doctest(code, {}, "README.md", "README.md", 0)
    report: list[str] = []
    failed, attempted = doctest.DocTestRunner().run(example, out=report.append)
    assert not failed, "\n" + "".join(report)
    assert attempted


def test_the_quickstart_with_spark_runs_as_printed(spark, tmp_path):
    """In the session of the tests, whose paths begin elsewhere."""
    (code,) = re.findall(r"^```pyspark\n(.*?)^```$", README, re.M | re.S)
    run(code.replace('"social-state"', repr(str(tmp_path / "social-state"))))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^ {4}|`|\$ )make ([a-z]+)", text, flags=re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named
    assert named <= targets


def test_files_and_folders_exist():
    """Those that CONTRIBUTING names, from the root, the package or the engine, or by their last name alone."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|txt|toml|lock)))`", text))
    files = [path for folder in ("src/deltic", "tests") for path in (ROOT / folder).rglob("*")]
    assert len(named) > 10
    engine = ROOT / "src/deltic/engine"
    bases = (ROOT, ROOT / "src/deltic", engine, engine / "executors")
    gone = {n for n in named if not any((base / n).exists() for base in bases)}
    assert gone <= {path.name for path in files}
