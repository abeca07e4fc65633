"""Write theory/STATEMENTS.md: the papers' statements, their names in the code, and the tests that check them.

The statements are listed in theory.toml; the tests are those marked `@pytest.mark.law("FIX Thm 39")`. With `--check`
nothing is written, and the exit status says whether the page is up to date. Exits with an error where a statement has
no test, a marker names no statement, or a name is not in the code.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import tomllib
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "theory" / "STATEMENTS.md"
CATALOGUE = Path(__file__).with_name("theory.toml")
LISTED = ("FIX", "CONF", "CS", "DBSP", "ELA")
"""Papers all of whose statements are in the catalogue; those of others are listed as far as tests name them."""


def marked_laws(path: Path) -> Iterator[tuple[str, str]]:
    """The pairs (law, test) of one file of tests, the test as a link."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.law":
                    for argument in decorator.args:
                        yield ast.literal_eval(argument), f"[{node.name}](../{path.relative_to(ROOT)})"


def tests_by_law() -> dict[str, list[str]]:
    """The tests that name each law, in the order of their files."""
    found: dict[str, list[str]] = {}
    suites = (ROOT / "tests", ROOT / "theory" / "tests", ROOT / "extensions" / "ddlog" / "tests")
    for path in sorted(path for suite in suites for path in suite.rglob("test_*.py")):
        for law, test in marked_laws(path):
            found.setdefault(law, []).append(test)
    return found


def in_code(name: str) -> bool:
    """Whether a dotted name, relative to deltic_theory or whole, is a module's attribute, or an attribute of one."""
    whole = name.startswith(("deltic.", "deltic_ddlog."))
    package, *parts = name.split(".") if whole else ("deltic_theory", *name.split("."))
    for split in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join((package, *parts[:split])))
        except ModuleNotFoundError:
            continue
        try:
            reduce(getattr, parts[split:], module)
        except AttributeError:
            return False
        return True
    return False


def problems(catalogue: dict[str, dict], tests: dict[str, list[str]]) -> list[str]:
    """What is wrong with the catalogue or the markers."""
    statements, same = catalogue["statements"], catalogue["same"]
    named = [name for _, *names in statements.values() for name in names]
    known = statements.keys() | same.keys()
    own_keys = catalogue["notes"].keys() | catalogue["differences"].keys()
    return [
        *(f"{law}: no test has this marker" for law in statements if law not in tests),
        *(f"{law}: a test has this marker, theory.toml has no such statement" for law in tests if unknown(law, known)),
        *(
            f"{law}: is said to be {other}, which is no statement"
            for law, other in same.items()
            if other not in statements
        ),
        *(f"{law}: has a remark and is no statement" for law in own_keys if law not in statements),
        *(f"{name}: not in the code" for name in named if not in_code(name)),
    ]


def unknown(law: str, known: set[str]) -> bool:
    """Whether a law of a paper that is listed in full is not in the list."""
    return law.split()[0] in LISTED and law not in known


def row(law: str, title: str, names: list[str], tests: list[str], note: str = "") -> str:
    """A row of the table."""
    code = ", ".join(f"`{name}`" for name in names)
    checked = "<br>".join(tests)
    return f"| {law} | {title} | {code} | {checked}{f'<br>{note}' if note else ''} |"


def page() -> str:
    """The whole of theory/STATEMENTS.md; SystemExit with all problems where there are any."""
    catalogue, tests = tomllib.loads(CATALOGUE.read_text(encoding="utf-8")), tests_by_law()
    if found := problems(catalogue, tests):
        sys.exit("\n".join(found))
    lines = [catalogue["introduction"].strip()]
    for paper, title in catalogue["sections"].items():
        rows = list(section(paper, catalogue, tests))
        if rows:
            lines += ["", f"## {paper}: {title}", "", *rows]
    lines += ["", "## Where the code differs from the papers", ""]
    lines += [f"* **{law}.** {difference}" for law, difference in catalogue["differences"].items()]
    return "\n".join(lines) + "\n"


def section(paper: str, catalogue: dict[str, dict], tests: dict[str, list[str]]) -> Iterator[str]:
    """One paper: the statements that another one has, those of its own, and others that tests name."""
    statements, notes = catalogue["statements"], catalogue["notes"]
    own = [law for law in statements if law.split()[0] == paper]
    same = [f"{law.partition(' ')[2]} ({other})" for law, other in catalogue["same"].items() if law.split()[0] == paper]
    named = sorted((law for law in tests if law.split()[0] == paper and law not in own), key=in_order)
    if same:
        yield f"In parentheses, the same statements elsewhere: {', '.join(same)}."
    if own or named:
        yield "| statement | meaning | code | tests |"
        yield "|---|---|---|---|"
    for law in own:
        title, *names = statements[law]
        yield row(law, title, names, tests[law], notes.get(law, ""))
    for law in named:
        yield row(law, "", [], tests[law])


def in_order(law: str) -> list[tuple[int, str]]:
    """A sort key by which 2.10 comes after 2.9."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in law.replace(".", " ").split()]


def main() -> int:
    """Writes or checks the page; the exit status is 1 when a check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    expected = page()
    if parser.parse_args().check:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == expected
        print(
            f"{PAGE.relative_to(ROOT)} is {'up to date' if current else 'not up to date: run scripts/theory_table.py'}"
        )
        return 0 if current else 1
    PAGE.write_text(expected, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
