"""The extras: each package has one, which installs it, and what needs a package that is missing names its extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from deltic.extras import EXTRAS, required

_PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
_PACKAGES = {"opentelemetry": "opentelemetry-api", "yaml": "pyyaml"}
"""The names that packages have on an index, where these are others than of their modules."""

_WITHOUT_EXTRAS = f"""
import sys
class Absent:
    def find_spec(self, name, path, target=None):
        if name.partition('.')[0] in {[*EXTRAS]}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())"""


def _named(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}


@pytest.mark.parametrize(("module", "extra"), EXTRAS.items())
def test_an_extra_installs_the_package_that_names_it(module: str, extra: str) -> None:
    assert _PACKAGES.get(module, module) in _named(_PROJECT["optional-dependencies"][extra])


def test_all_means_all_extras_of_users() -> None:
    told = re.search(r"\[(.*)\]", _PROJECT["optional-dependencies"]["all"][0])
    assert told is not None
    assert {*told[1].split(",")} == _PROJECT["optional-dependencies"].keys() - {"all", "dev"}


def test_the_library_runs_without_any_extra(tmp_path: Path) -> None:
    program = f"""
{_WITHOUT_EXTRAS}
import deltic

pipeline = deltic.Pipeline(state={str(tmp_path / "state")!r})
pipeline.sql("CREATE TABLE t (a INT PRIMARY KEY, b STRING); CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b")
pipeline.sql("INSERT INTO t VALUES (1, 'x'), (2, 'x')")
print(pipeline.sql("SELECT upper(b), n FROM v ORDER BY b").to_arrow().to_pylist())
print(pipeline.explain("v").splitlines()[0])
for door in (pipeline["v"].to_pandas, pipeline["v"].to_spark, lambda: deltic.register(None)):
    try:
        door()
    except deltic.DelticError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    answer, _, *missing = run.stdout.splitlines()
    assert answer == "[{'upper(b)': 'X', 'n': 2}]"
    assert [re.findall(r"pip install 'deltic\[(.*)\]'$", line) for line in missing] == [
        ["pandas"],
        ["spark"],
        ["spark"],
    ]


def test_the_command_without_its_extra_says_what_to_install() -> None:
    program = f"{_WITHOUT_EXTRAS}\nfrom deltic.__main__ import main; main()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    message = "Error: the deltic command needs the package typer, which is not installed: pip install 'deltic[cli]'\n"
    assert (run.returncode, run.stderr) == (1, message)


def test_a_package_that_is_broken_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("psycopg.py").write_text("import no_such_module_of_psycopg")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "psycopg", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_psycopg"):
        required("psycopg", "PostgreSQL")


def test_the_page_on_an_index_leads_to_no_file() -> None:
    """An index shows the text of README.md without the files beside it."""
    metadata = ProjectMetadata(str(Path(__file__).parents[1]), PluginManager())
    page = metadata.core.readme
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert links
    assert all(re.match("https?:|#", link) for link in links)
    assert "![" not in page
    assert "make demo` on two cores" not in page
    assert "## Views over a frame" in page
    assert "Languages: SQL and its functions" in page
    assert metadata.core.readme_content_type == "text/markdown"
