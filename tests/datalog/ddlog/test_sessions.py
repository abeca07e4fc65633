"""Programs under DDlog's command language: wrong values, orders and formats of what is printed, and wrong epochs.

Each `sessions/NAME.dl` runs the commands of `NAME.dat`; `tests/golden/ddlog/NAME.txt` has what is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import deltic
from deltic.errors import DataError

SESSIONS = Path(__file__).parent / "sessions"


def printed(program: str, commands: str, file: str = "<ddlog>") -> list[str]:
    """What commands print on a program, with the message of the error that ends them, if one does."""
    lines: list[str] = []
    session = deltic.Pipeline().ddlog(program, file)
    session.write = lines.append
    session.begin()
    try:
        session.run(commands)
    except DataError as error:
        lines.append(str(error))
    return lines


@pytest.mark.parametrize("program", sorted(SESSIONS.glob("*.dl")), ids=lambda path: path.stem)
def test_sessions_print_what_ddlog_prints(program: Path, golden: Callable[[str, str], None]) -> None:
    commands = program.with_suffix(".dat").read_text()
    golden(f"ddlog/{program.stem}.txt", "\n".join(printed(program.read_text(), commands, str(program))))


SMALL = "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x), x > 3.\n"


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ("insert A(1);", "there is no transaction in progress"),
        ("start; start;", "a transaction has begun already"),
        ("start; insert A(300);", "300 does not fit into bit<8>"),
        ("start; insert A(1", "`,` or `)` is missing here"),
        ("start; insert A(1, 2);", "A has the fields (x)"),
        ("start; insert C(1);", "there is no input relation C"),
        ("start; delete_key A 1;", "A has none"),
        ("dump A;", "there is no output relation A"),
        ("query_index I(1);", "there is no index I"),
        ("undo;", "there is no command `undo`"),
        ("commit", "`;` is missing here"),
    ],
)
def test_wrong_commands_are_told_with_their_place(commands: str, told: str) -> None:
    last = printed(SMALL, commands)[-1]
    assert told in last
    assert "<commands>:1:" in last


def test_what_failed_can_be_rolled_back() -> None:
    pipeline = deltic.Pipeline()
    session = pipeline.ddlog(SMALL)
    with pytest.raises(DataError):
        session.run("start; insert A(5), insert A(500);")
    session.run("rollback; start; insert A(6); commit;")
    assert list(pipeline["B"]) == [(6,)]


def test_other_languages_read_relations() -> None:
    pipeline = deltic.Pipeline()
    session = pipeline.ddlog(SMALL)
    pipeline.sql("CREATE MATERIALIZED VIEW doubled AS SELECT x * 2 AS y FROM B")
    session.run("start; insert A(4), insert A(1); commit;")
    assert list(pipeline["doubled"]) == [(8,)]
    with pytest.raises(deltic.CatalogError, match="DDlog program"):
        pipeline.drop("B", "doubled")


def test_extern_functions_are_pythons() -> None:
    pipeline = deltic.Pipeline()
    pipeline.function("doubled", lambda x: 2 * x, arguments=["int64"], returns="int64", deterministic=True)
    text = "extern function doubled(x: u8): u8\ninput relation A(x: u8)\noutput relation B(x: u8)\n"
    session = pipeline.ddlog(text + "B(doubled(x)) :- A(x).\n")
    session.run("start; insert A(4); commit;")
    assert list(pipeline["B"]) == [(8,)]


def test_functions_behind_conditions_may_fail_for_what_these_exclude() -> None:
    text = """
    function fits(x: u32): bool { not (x % 4 == 0 or x > 9) }
    function part(x: u32): u32 { 6 / (x % 4) }
    input relation S(x: u32)
    input relation A(x: u32, y: u32)
    output relation R(x: u32, y: u32)
    R(x, y) :- S(x), fits(x), var z = part(x), A(part(x) + z, y), A(_, y).
    """
    lines = printed(
        text, "start; insert S(4), insert S(0), insert S(3), insert A(4, 1), insert A(8, 2); commit; dump R;"
    )
    assert lines == ["R{.x = 3, .y = 1}"]
    failing = text.replace("fits(x),", "")
    assert "rejected" in _raised(failing, "start; insert S(4), insert A(4, 1); commit;")


def _raised(text: str, commands: str) -> str:
    session = deltic.Pipeline().ddlog(text)
    with pytest.raises(deltic.DelticError) as found:
        session.run(commands)
    return str(found.value)
