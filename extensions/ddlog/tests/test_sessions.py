"""Programs under DDlog's command language: wrong values, orders and formats of what is printed, and wrong epochs.

Each `sessions/NAME.dl` runs the commands of `NAME.dat`; `tests/golden/ddlog/NAME.txt` has what is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import deltic
from deltic.errors import DataError
from deltic_ddlog import types as t

SESSIONS = Path(__file__).parent / "sessions"


def printed(program: str, commands: str, file: str = "<ddlog>") -> list[str]:
    """Return what commands print on a program, with the message of the error that ends them, if one does."""
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
    golden(f"{program.stem}.txt", "\n".join(printed(program.read_text(), commands, str(program))))


SMALL = "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x), x > 3.\n"


@pytest.mark.parametrize(
    ("commands", "message"),
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
        ("commit dump", "`;` is missing here"),
        ("log_level high;", "takes a whole number"),
        ("mssleep -1;", "takes a whole number from 0 on"),
        ("profile disk on;", "`cpu` or `change` or `timely` is missing here"),
    ],
)
def test_wrong_commands_are_told_with_their_place(commands: str, message: str) -> None:
    last = printed(SMALL, commands)[-1]
    assert message in last
    assert "<commands>:1:" in last


def test_a_relation_of_a_module_is_named_where_its_last_name_alone_is_given(tmp_path: Path) -> None:
    (tmp_path / "lib.dl").write_text("input relation A(x: u8)\ninput relation Amber(x: u8)\n")
    program = "import lib\noutput relation B(x: u8)\nB(x) :- lib::A(x), lib::Amber(x).\n"
    session = deltic.Pipeline().ddlog(program, str(tmp_path / "main.dl"))
    for name, meant in (("A", "lib::A"), ("lib::Ambre", "lib::Amber")):
        with pytest.raises(DataError, match=f"there is no input relation {name}") as found:
            session.run(f"start; insert {name}(1);")
        assert f"hint: did you mean `{meant}`?" in str(found.value)
        session.run("rollback;")


def test_what_failed_can_be_rolled_back() -> None:
    pipeline = deltic.Pipeline()
    session = pipeline.ddlog(SMALL)
    with pytest.raises(DataError):
        session.run("start; insert A(5), insert A(500);")
    session.run("rollback; start; insert A(6); commit;")
    assert list(pipeline["B"]) == [(6,)]


def test_of_updates_with_commas_between_them_all_or_none_are_done() -> None:
    text = SMALL + (
        "input multiset M(x: u8)\noutput multiset N(x: u8)\nN(x) :- M(x).\n"
        "input relation K(x: u8, y: u8)\nprimary key (k) k.x\noutput relation L(x: u8, y: u8)\nL(x, y) :- K(x, y).\n"
    )
    session = deltic.Pipeline().ddlog(text)
    session.run("start; insert A(5), insert M(1), insert M(1), insert K(1, 2); commit; start; insert A(6);")
    with pytest.raises(DataError, match="has a record with this key already"):
        session.run("insert A(7), delete A(5), delete M(1), modify K 1 <- K{.y = 9}, insert K(2, 2), insert K(2, 3);")
    lines: list[str] = []
    session.write = lines.append
    session.run("commit dump_changes; dump L; dump N;")
    assert lines == ["B:", "B{.x = 6}: +1", "L{.x = 1, .y = 2}", "N{.x = 1} +2"]


def test_multisets_are_dumped_with_weights_below_zero() -> None:
    text = "input multiset M(x: u8)\noutput multiset N(x: u8)\nN(x) :- M(x).\n"
    assert printed(text, "start; delete M(7), insert M(2); commit; dump N;") == ["N{.x = 2}", "N{.x = 7} -1"]


def test_profiles_tell_what_relations_have_and_how_they_have_changed() -> None:
    lines = printed(
        SMALL, "start; insert A(5), insert A(1); commit; start; delete A(1); commit; profile cpu on; profile;"
    )
    assert re.fullmatch(r"2 transactions: [0-9.]+ s, [0-9,]+ rows visited", lines[0])
    assert lines[1:] == ["A: 1 record, +2 −1", "B: 1 record, +1 −0"]


def test_numbers_are_written_as_in_rust() -> None:
    text = "input relation R(i: s32, d: double)\noutput relation O(i: s32, d: double)\nO(i, d) :- R(i, d).\n"
    commands = (
        "start; insert R(0x1_f, .5), insert R(- 1_000, 5.), insert R(+7, -2E-3), insert R(0b11, 1_0.5); commit; dump O;"
    )
    assert printed(text, commands) == [
        "O{.i = -1000, .d = 5}",
        "O{.i = 3, .d = 10.5}",
        "O{.i = 7, .d = -0.002}",
        "O{.i = 31, .d = 0.5}",
    ]


def test_groups_are_inspected() -> None:
    text = """
    import print
    input relation Price(item: string, vendor: string, price: u64)
    output relation Best(text: string)
    function cheapest(g: Group<string, (string, u64)>): string { "${g.key()}: ${g.first().0}" }
    Best(best) :-
        Price(item, vendor, price),
        var group = (vendor, price).group_by(item),
        Inspect print("${item} has ${group.to_vec().len()}: ${ddlog_weight}"),
        var best = group.cheapest(), Inspect print("${ddlog_timestamp} ${best} ${ddlog_weight}").
    """
    commands = 'start; insert Price("a", "x", 3), insert Price("a", "y", 2), insert Price("b", "x", 4); commit;'
    assert printed(text, commands) == ["a has 2: 1", "b has 1: 1", "1 a: x 1", "1 b: x 1"]


def test_functions_that_fail_outside_of_rules_are_told_with_their_place() -> None:
    key = "input relation A(x: u8)\nprimary key (a) 6 / a.x\n"
    assert "this record of A has no key: 6 / 0 has no value" in printed(key, "start; insert A(0);")[-1]
    inspect = "input relation A(x: u8)\nrelation B(x: u8)\nB(x) :- A(x), Inspect {var y = 6 / x; ()}.\n"
    assert (
        "<ddlog>:3:15: what is inspected failed, after the transaction"
        in printed(inspect, "start; insert A(0); commit;")[-1]
    )
    with pytest.raises(deltic.ProgramError, match="2:1: this has no value: 6 / 0 has no value"):
        deltic.Pipeline().ddlog("relation A(x: u8)\nA(6 / (1 - 1)).\n")


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


@pytest.mark.parametrize(
    "last", ["dump", "dump B", "commit dump_changes", "echo then", "query_index I(5)", "insert A(4)"]
)
def test_the_last_command_needs_no_semicolon(last: str) -> None:
    program, begun = SMALL + "index I(x: u8) on B(x)\n", "start; insert A(5);"
    before = begun if last.startswith(("commit", "insert")) else f"{begun} commit;"
    assert printed(program, f"{before} {last}\n") == printed(program, f"{before} {last};")


def test_records_of_one_of_several_constructors_stand_by_place_where_it_has_the_name_of_the_relation() -> None:
    program = """
    typedef Tree = Tree{size: u8, name: string} | Bush
    input relation Tree[Tree]
    output relation Q[Tree]
    Tree(1, "ash").
    Q[Tree{size + 1, name}] :- Tree(size, name).
    Q(Bush) :- Tree(.name = "elm"), not Tree(9, _).
    """
    commands = 'start; insert Tree(2, "elm"), insert Tree[Bush], insert Tree(.name = "oak", .size = 5); commit; dump;'
    assert printed(program, commands) == [
        "Q:",
        'Tree{.size = 2, .name = "ash"}: +1',
        "Q:",
        'Tree{.size = 2, .name = "ash"}',
        'Tree{.size = 3, .name = "elm"}',
        'Tree{.size = 6, .name = "oak"}',
        "Bush{}",
        "",
    ]


def test_groups_may_stand_in_recursions() -> None:
    """The least costs of ways in a graph with a circle; a longer way takes the place of one that goes."""
    program = """
    input relation Edge(x: u8, y: u8, cost: u32)
    relation Way(x: u8, y: u8, cost: u32)
    output relation Best(x: u8, y: u8, cost: u32)
    Way(x, y, c) :- Edge(x, y, c).
    Way(x, z, c + d) :- Best(x, y, c), Edge(y, z, d).
    Best(x, y, least) :- Way(x, y, c), var least = c.group_by((x, y)).min().
    """
    first = "start; insert Edge(1, 2, 3), insert Edge(2, 3, 4), insert Edge(1, 3, 9), insert Edge(3, 1, 1); commit;"
    assert printed(program, f"{first} start; delete Edge(2, 3, 4); commit dump_changes;")[1:] == [
        f"Best{{.x = {x}, .y = {y}, .cost = {cost}}}: {weight}"
        for x, y, cost, weight in [
            (1, 1, 8, "-1"),
            (1, 1, 10, "+1"),
            (1, 3, 7, "-1"),
            (1, 3, 9, "+1"),
            (2, 1, 5, "-1"),
            (2, 2, 8, "-1"),
            (2, 3, 4, "-1"),
            (3, 3, 8, "-1"),
            (3, 3, 10, "+1"),
        ]
    ]


def test_modify_names_the_constructor_as_it_likes_where_there_is_one() -> None:
    program = """
    typedef Item = Item{id: u8, name: string}
    input relation Store[Item] primary key (x) x.id
    output relation O[Item]
    O[x] :- Store[x].
    """
    commands = 'start; insert Store[Item{1, "a"}]; modify Store 1 <- Store{.name = "b"}; commit dump_changes;'
    assert printed(program, commands) == ["O:", 'Item{.id = 1, .name = "b"}: +1']


def test_values_of_any_type_keep_their_types_in_columns() -> None:
    program = """
    typedef S = A{x: u32} | B
    input relation J(x: u32)
    output relation P(x: Any)
    P(to_any(x)), P(to_any(A{x})), P(to_any(Some{(x, true)})) :- J(x).
    output relation Q(x: u32)
    Q(x) :- P(any), Some{var x: u32} = from_any(any).
    output relation All(all: Vec<Any>)
    All(all) :- P(any), Some{var s: S} = from_any(any), var all = any.group_by(()).to_vec().
    input relation I(x: Any)
    """
    commands = "start; insert J(1); commit dump_changes; start; insert I(1);"
    *lines, error = printed(program, commands)
    assert lines == [
        "All:",
        "All{.all = [A{.x = 1}]}: +1",
        "P:",
        "P{.x = A{.x = 1}}: +1",
        "P{.x = 1}: +1",
        "P{.x = ddlog_std::Some{.x = (1, true)}}: +1",
        "Q:",
        "Q{.x = 1}: +1",
    ]
    assert "cannot be written: one is made in a rule, by `to_any`" in error


@pytest.mark.parametrize(
    "type_",
    [t.Bit(8), t.UNIT, t.Named("m::T", (t.Tuple((t.Signed(16), t.STRING)), t.Named("V", (t.BOOL,)))), t.Double()],
)
def test_types_are_read_from_what_they_print(type_: t.DdlogType) -> None:
    assert t.of_text(str(type_)) == type_


def test_a_part_of_a_value_that_no_column_has_is_made_where_it_is_used() -> None:
    program = """
    import regex
    input relation I(s: string, p: string)
    output relation Found(s: string, p: string, is: bool)
    Found(s, p, r.regex_match(s)) :- I(s, p), Ok{var r} = try_regex(p).
    output relation Count(s: string, n: usize)
    Count(s, n) :- I(s, p), Ok{var r} = try_regex(p), r.regex_match(s), var n = s.group_by(s).count_distinct().
    """
    commands = (
        'start; insert I("abc", "b"), insert I("abc", "^x"), insert I("abc", "c$"), insert I("q", "("); commit; dump;'
    )
    assert printed(program, commands) == [
        "Count:",
        'Count{.s = "abc", .n = 2}',
        "",
        "Found:",
        'Found{.s = "abc", .p = "^x", .is = false}',
        'Found{.s = "abc", .p = "b", .is = true}',
        'Found{.s = "abc", .p = "c$", .is = true}',
        "",
    ]
