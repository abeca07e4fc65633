"""What the compiler tells of bodies: cases that are missing, and changes of what cannot be changed.

What it can catch: a `match` that would find no case at run time, one that is refused though it covers all, and changes
that DDlog forbids since their order is not told.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest

from deltic.errors import ProgramError
from deltic_ddlog.check import check

TYPES = """
typedef Shape = Dot | Box{side: u8} | Pair{first: bool, second: Option<bool>}
typedef Name = Name{text: string}
"""


def told(function: str) -> str:
    """Return the message for a function that is wrong."""
    with pytest.raises(ProgramError) as error:
        check(TYPES + function)
    return str(error.value)


@pytest.mark.parametrize(
    ("type_", "cases", "missing"),
    [
        ("Option<u8>", "Some{y} -> 1", "None"),
        ("Option<bool>", "Some{true} -> 1, None -> 2", "Some{false}"),
        ("u8", "1 -> 1, 2 -> 2", "_"),
        ("(bool, bool)", "(true, _) -> 1, (_, true) -> 2", "(false, false)"),
        ("Shape", "Dot -> 1, Pair{_, None} -> 2, Box{_} -> 3", "Pair{_, Some{_}}"),
        ("Shape", "Pair{true, Some{z}} -> 1, s @ Dot -> 2, Pair{_, None} -> 3, Box -> 4", "Pair{false, Some{_}}"),
        ("(Option<u8>, string)", '(None, "a") -> 1, (Some{_}, _) -> 2', "(None, _)"),
        ("Ref<Shape>", "&Dot -> 1, &Box{_} -> 2", "Pair{_, _}"),
    ],
)
def test_a_case_that_is_missing_is_told(type_: str, cases: str, missing: str) -> None:
    assert f"no case of this `match` covers `{missing}`" in told(
        f"function f(x: {type_}): u8 {{ match (x) {{ {cases} }} }}"
    )


@pytest.mark.parametrize(
    ("type_", "cases"),
    [
        ("(bool, bool)", "(true, _) -> 1, (_, true) -> 2, (false, false) -> 3"),
        ("Option<u8>", "Some{1} -> 1, Some{y} -> y, None -> 2"),
        ("Shape", "Dot -> 1, Box{.side = n} -> n, Pair{true, _} -> 2, Pair{_, Some{true}} -> 3, Pair -> 4"),
        ("Name", 'Name{"a"} -> 1, Name{_} -> 2'),
        ("()", "() -> 1"),
    ],
)
def test_what_covers_all_is_no_error(type_: str, cases: str) -> None:
    check(f"{TYPES}function f(x: {type_}): u8 {{ match (x) {{ {cases} }} }}")


@pytest.mark.parametrize(
    ("type_", "cases"),
    [
        ("Option<u8>", "_ -> 1, `None` -> 2"),
        ("Option<u8>", "Some{y} -> y, `Some{1}` -> 1, None -> 2"),
        ("Option<u8>", "Some{y} -> y, None -> 2, `_` -> 3"),
        ("u8", "1 -> 1, `1` -> 2, _ -> 3"),
        ("(bool, bool)", "(true, _) -> 1, (_, true) -> 2, `(true, false)` -> 3, _ -> 4"),
        ("(Shape, Shape)", "(Dot, Box{_}) -> 1, (Box{x}, _) -> x, `(Box{_}, Dot)` -> 0, _ -> 2"),
    ],
)
def test_a_case_that_covers_nothing_is_told(type_: str, cases: str) -> None:
    message = told(f"function f(x: {type_}): u8 {{ match (x) {{ {cases.replace('`', '')} }} }}")
    assert "the cases before this one cover all that it covers" in message
    line, marked = message.splitlines()[1:3]
    assert line[marked.index("^") : marked.rindex("^") + 1] == cases.split("`")[1]


def test_cases_of_random_patterns_are_missing_where_a_value_has_none_of_them() -> None:
    """Against all values of a type; each case covers some that those before it do not."""
    random, kinds = Random(16), ("_", "true", "false")
    values = list(itertools.product((False, True), repeat=3))
    for _ in range(40):
        rows = [tuple(random.choice(kinds) for _ in range(3)) for _ in range(random.randint(1, 6))]
        cases = ", ".join(f"({', '.join(row)}) -> 1" for row in rows)
        firsts = {next((i for i, row in enumerate(rows) if _has(row, value)), -1) for value in values}
        is_whole = firsts == set(range(len(rows)))
        text = f"function f(x: (bool, bool, bool)): u8 {{ match (x) {{ {cases} }} }}"
        try:
            check(text)
            found = True
        except ProgramError:
            found = False
        assert found == is_whole, text


def _has(row: tuple[str, ...], value: tuple[bool, ...]) -> bool:
    return all(kind == "_" or (kind == "true") == part for kind, part in zip(row, value, strict=True))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = 1", "`y` cannot be changed: it is a parameter without `mut`"),
        ("for (v in [0, 1]) { v = y }", "it is a variable of a loop"),
        ("var v = [y]; for (x in v) { v.push(x) }", "it is what the loop goes over"),
        ('var n = Name{"a"}.intern(); n.text = "b"', "`n.text` cannot be changed: it is behind a reference"),
        ("var v = [y]; if ({v.push(3); v.len()} > 5) { () }", "inside of an operand"),
        ("var v = [y]; if ({v.push(3); v.is_empty()}) { () }", "inside of a condition"),
        ("var n = y; var f = |x| { n = x + 1 }; f(2)", "it is of outside of this closure"),
        ("var f = |x: u8| { x = 1 }; f(y)", "it is a parameter without `mut`"),
        ("match (Some{y}) { Some{z} -> { z = 1 }, None -> () }", "it is a part of what cannot be changed"),
        ("var y = 5", "there is a variable `y` already"),
        ("var z = Some{y}; Some{var w} = z", "this pattern does not cover `None`"),
        ("for (Some{w} in [Some{y}]) { () }", "this pattern does not cover `None`"),
        ("var z", "or say its type: `var z: T`"),
    ],
)
def test_changes_of_what_cannot_be_changed_are_errors(body: str, message: str) -> None:
    assert message in told(f"function f(y: u8) {{ {body} }}")


def test_what_may_be_changed_may_be() -> None:
    check(
        TYPES
        + """
function f(x: mut string, y: mut Option<u8>): u8 {
    var n: u8;
    n = 3;
    x = "${n}";
    match (y) { Some{z} -> { z = z + n }, None -> () };
    var change = |s: mut u8| { s = s + 1 };
    change(n);
    if ({var inner = n; inner = inner + 1; inner} == 5) { n = 1 };
    var name = Name{"a"};
    name.text = "b";
    n
}
input relation A(x: u8)
relation B(x: u8)
B({var y = x; y = y + 1; y}) :- A(x).
"""
    )


def test_a_variable_of_a_rule_cannot_be_changed() -> None:
    message = told("input relation A(x: u8)\nrelation B(x: u8)\nB({x = x + 1; x}) :- A(x).")
    assert "`x` cannot be changed: it is a variable of a rule" in message


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("output relation R(x: u8)\nR(x) :- S(x).", "R is a relation, and the records of the stream S go"),
        ("output multiset R(x: u8)\nR(x) :- Q(x), S(x).", "R is a multiset"),
        ("output stream R(x: u8)\nR(x) :- Q(x), not S(x).", "`not` is for relations"),
        ("output stream R(x: u8)\nR(x) :- S(x), not Q(x).", "`not` is for relations"),
        ("output stream R(x: u8)\nR(x) :- Q'(x).", "Q is a relation"),
    ],
)
def test_streams_and_relations_are_not_mixed(rules: str, message: str) -> None:
    assert message in told(f"input stream S(x: u8)\ninput relation Q(x: u8)\n{rules}")
