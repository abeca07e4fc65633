"""Rules whose forms are rare: collections of no variables, and cases of the imperative syntax."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from extensions.ddlog.tests.test_sessions import printed

import deltic
from deltic_ddlog.check import check


def test_items_that_no_variable_says_are_each_a_row() -> None:
    program = 'output relation B(x: string)\nB(y) :- var x = FlatMap(["a", "b"]), var y = x ++ "c".'
    assert printed(program, "") == ["B:", 'B{.x = "ac"}: +1', 'B{.x = "bc"}: +1']


def test_cases_of_statements_need_no_comma_and_need_not_cover_all() -> None:
    program = """
input relation A(x: Option<u8>)
output relation B(x: u8)
for (a in A) match (a.x) { Some{1} -> B(10) Some{var y} -> B(y) }
"""
    inserted = ", ".join(f"insert A(ddlog_std::{each})" for each in ("Some{1}", "None", "Some{7}"))
    found = printed(program, f"start; {inserted}; commit dump_changes;")
    assert found == ["B:", "B{.x = 7}: +1", "B{.x = 10}: +1"]


def test_statements_bind_the_items_of_collections() -> None:
    program = """
input relation A(v: Vec<u8>)
output relation B(x: u8)
for (a in A) var x = FlatMap(a.v) in if (x > 3) B(x)
"""
    assert printed(program, "start; insert A([1, 5, 7]); commit; dump B;") == ["B{.x = 5}", "B{.x = 7}"]


def test_forms_that_published_programs_have() -> None:
    """Names of cases that hide others, strings inside of those in expressions, conditions that are a name, and more."""
    program = r"""
import vec
typedef Id = Id{id: u8} | Nameless{id: u8}
function shown(id: Id): string {
    match (id) { Id{id} -> "${[\"<\", \"${id}\"].join(\"\\\"-\")}>", Nameless{id} -> "#${id}" }
}
function sign(low: bool): string { if low "low" else { var high = not low; if high { "high" } else { "" } } }
input relation A(x: u8, id: Id)
input relation Off(x: u8)
output relation B(text: string)
B("${shown(id)} ${sign(x < 3)}") :- A(x, id), A(), not off in Off(x).
B("no Off") :- not Off(), not o in Off(.x = 9).
B("A has ${n}") :- A(x, _), var n = x.group_by(()).size().
for (a in A) { a.x > 2 in for (Off(y)) B("${a.x} ${y}") }
"""
    inserted = "insert A(1, Id{1}), insert A(3, Id{3}), insert A(4, Nameless{4}), insert Off(4)"
    assert printed(program, f"start; {inserted}; commit dump_changes; start; clear Off; commit dump_changes;") == [
        "B:",
        r'B{.text = "no Off"}: +1',
        "B:",
        r'B{.text = "3 4"}: +1',
        r'B{.text = "4 4"}: +1',
        r'B{.text = "<\"-1> low"}: +1',
        r'B{.text = "<\"-3> high"}: +1',
        r'B{.text = "A has 3"}: +1',
        r'B{.text = "no Off"}: -1',
        "B:",
        r'B{.text = "#4 high"}: +1',
        r'B{.text = "3 4"}: -1',
        r'B{.text = "4 4"}: -1',
        r'B{.text = "no Off"}: +1',
    ]


@pytest.mark.parametrize("step", ["R{0}(x, z) :- R{1}(x, y), E(y, z).", "R{0}(x, y) :- R{1}(x, y), not E(y, x + {0})."])
def test_relations_that_nobody_sees_are_computed_once(step: str) -> None:
    """A chain of them visits as many rows for each as there are, and not those of all that stand before it."""
    visited = []
    for length in (4, 16):
        rules = "".join(f"relation R{i}(x: u32, y: u32)\n{step.format(i, i - 1)}\n" for i in range(1, length))
        program = f"""
input relation E(x: u32, y: u32)
relation R0(x: u32, y: u32)
R0(x, y) :- E(x, y).
{rules}output relation O(x: u32, y: u32)
O(x, y) :- R{length - 1}(x, y).
"""
        session = deltic.Pipeline().ddlog(program)
        changes = ", ".join(f"insert E({i}, {(i + 1) % 20})" for i in range(20))
        lines: list[str] = []
        session.write = lines.append
        session.run(f"start; {changes}; commit; profile;")
        visited.append(int(lines[0].split()[-3].replace(",", "")))
    assert visited[1] <= 5 * visited[0]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["", "output "])
def test_chains_of_a_thousand_rules(role: str) -> None:
    """No part of compiling them goes as deep as they are long."""
    rules = "".join(
        f"{role}relation R{i}(x: u32, y: u32)\nR{i}(x, z) :- R{i - 1}(x, y), E(y, z).\n" for i in range(1, 1000)
    )
    program = f"input relation E(x: u32, y: u32)\noutput relation R0(x: u32, y: u32)\nR0(x, y) :- E(x, y).\n{rules}"
    pipeline = deltic.Pipeline()
    session = pipeline.ddlog(program + "output relation O(x: u32, y: u32)\nO(x, y) :- R999(x, y).\n")
    session.run("start; insert E(1, 2), insert E(2, 1); commit; start; insert E(2, 3); commit;")
    assert sorted(pipeline["O"]) == [(1, 1), (1, 3), (2, 2)]
    assert pipeline.explain("R999").startswith("R999: ")


@pytest.mark.parametrize(("node", "written"), [("u8", "{}"), ("istring", '"n{}"'), ("Vec<u8>", "[{}]")])
def test_components_have_the_least_node_that_reaches_theirs(node: str, written: str) -> None:
    """Also where edges between parts of a circle go, whose labels came from the node that is cut off."""
    program = f"""
import graph
input relation E(x: {node}, y: {node})
function from(e: E): {node} {{ e.x }}
function to(e: E): {node} {{ e.y }}
output relation Labels[({node}, {node})]
apply graph::ConnectedComponents(E, from, to) -> (Labels)
relation Reaches(x: {node}, y: {node})
Reaches(x, x), Reaches(y, y), Reaches(x, y) :- E(x, y).
Reaches(x, z) :- Reaches(x, y), E(y, z).
output relation Expected[({node}, {node})]
Expected[(y, least)] :- Reaches(x, y), var least = x.group_by(y).min().
"""
    session, lines = deltic.Pipeline().ddlog(program), list[str]()
    session.write = lines.append
    rng, edges = random.Random(node), set[tuple[int, int]]()
    for _ in range(6):
        flipped = {(rng.randrange(9), rng.randrange(9)) for _ in range(4)}
        for x, y in sorted(flipped):
            word = "delete" if (x, y) in edges else "insert"
            lines.append(f"{word} E({written.format(x)}, {written.format(y)})")
        edges ^= flipped
        commands = f"start; {', '.join(lines)}; commit; dump Labels; echo; dump Expected;"
        lines.clear()
        session.run(commands)
        middle = lines.index("")
        assert lines[:middle] == lines[middle + 1 :] != []
        lines.clear()


def test_another_function_of_python_or_of_a_module_is_another_program(tmp_path: Path) -> None:
    """By their fingerprints a state is opened with the program that it is of, or not."""
    text = "import shapes\nextern function f(x: u8): u8\ninput relation A(x: u8)\nrelation B(x: u8)\nB(f(x)) :- A(x)."

    def fingerprint(module: str, **functions: object) -> str:
        (tmp_path / "shapes.dl").write_text(module)
        return check(text, directories=[tmp_path], functions=functions).functions.program.fingerprint  # type: ignore[arg-type]

    first = fingerprint("function g(): u8 { 1 }", f=lambda x: x, other=lambda x: x)
    assert fingerprint("function g(): u8 { 1 }", f=lambda x: x, other=lambda x: x + 1) == first
    assert fingerprint("function g(): u8 { 1 }", f=lambda x: x + 1) != first
    assert fingerprint("function g(): u8 { 2 }", f=lambda x: x, other=lambda x: x) != first


def test_closures_are_printed_in_one_order_and_go_as_they_came():
    program = """
    input relation L(n: u8)
    function twice(x: u8): u8 { x + x }
    function plus(n: u8): function(u8): u8 { |x| x + n }
    output relation P(f: function(u8): u8)
    P(plus(n)) :- L(n).
    P(|x| x * n) :- L(n).
    P(twice) :- L(_).
    """
    commands = "start; insert L(2), insert L(1); commit dump_changes; start; delete L(2); commit dump_changes;"
    lines = printed(program, commands)
    came, gone = lines[1:6], lines[7:]
    assert came == sorted(came)
    assert {line.partition("{.f = closure_")[0] for line in came} == {"P"}
    assert [line[-8:] for line in gone] == ["{2}}: -1"] * 2
    assert {line.replace(": -1", ": +1") for line in gone} < set(came)


def test_a_step_of_an_explanation_has_the_text_of_its_rule() -> None:
    pipeline = deltic.Pipeline()
    pipeline.ddlog(
        "input relation E(x: u8, y: u8)\noutput relation P(x: u8, y: u8)\n"
        "P(x, z) :- P(x, y), E(y, z).\nP(0, 1).\nP(x, y) :- E(x, y).",
    )
    with pipeline.transaction() as change:
        change.insert("E", [(1, 2), (5, 6)])
    rules = {step.by: step.place for step in pipeline.why("P", (0, 2)).steps() if step.by != "table"}
    assert rules == {"P(x, z) :- P(x, y), E(y, z).": "<ddlog>:3:1", "P(0, 1).": "<ddlog>:4:1"}
    assert pipeline.why("P", (5, 6)).root.by == "P(x, y) :- E(x, y)."
