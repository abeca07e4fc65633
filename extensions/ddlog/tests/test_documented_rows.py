"""Each row of the tables of docs/ddlog.md is what happens.

A construct has a program here over the edges `E`, with what it derives of three of them, and follows random changes as
a start from nothing would; one that edges say nothing of has its own commands with what they print; what is refused is
so, in the words that matter. A row without a case here is an error. Constructs that mean here what they mean in DDlog
have a case and no row.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import deltic
from deltic.errors import DelticError
from deltic_ddlog.session import Session

TEXT = (Path(__file__).parents[3] / "docs" / "ddlog.md").read_text(encoding="utf-8")
TABLES = re.findall(r"\n\| (?:construct|command) \|.*\n\|---\|---\|\n((?:\|.*\n)+)", TEXT)
ROWS = [row for table in TABLES for row in re.findall(r"^\| (.*?) \| .*\|$", table, re.MULTILINE)]
EDGES = "input relation E(x: u8, y: u8)\n"
FIRST = [(1, 2), (2, 3), (3, 4)]


@dataclass(frozen=True)
class Follows:
    """A program over `E`, and the fields of the records of its `O` for the first edges."""

    program: str
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Prints:
    """A program, commands, and what these print; `modules` beside the program."""

    program: str
    commands: str
    expected: tuple[str, ...]
    modules: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    """A program, and what the message about it says."""

    program: str
    said: str


Case = Follows | Prints | Refused


def _o(fields: str, rules: str, *expected: str) -> Follows:
    return Follows(f"output relation O({fields})\n{rules}\n", expected)


TYPES: dict[str, Case] = {
    "structs, tagged unions, `typedef` of them; fields that constructors share": _o(
        "s: S, x: u8",
        "typedef S = Low{x: u8} | High{by: P, x: u8}\ntypedef P = P{a: u8, b: u8}\n"
        "O(s, s.x) :- E(x, y), var s = if (x < 3) Low{x} else High{.x = y, .by = P{x, y}}.",
        ".s = Low{.x = 1}, .x = 1",
        ".s = Low{.x = 2}, .x = 2",
        ".s = High{.by = P{.a = 3, .b = 4}, .x = 4}, .x = 4",
    ),
    "generic types, recursive types (behind `Ref` or in collections), aliases": _o(
        "t: Tree<u8>",
        "typedef Tree<'A> = Tree{of: 'A, below: Vec<Tree<'A>>}\ntypedef Byte = u8\n"
        "function leaf(x: Byte): Tree<Byte> { Tree{x, []} }\nO(Tree{x, [leaf(y)]}) :- E(x, y), x < 2.",
        ".t = Tree{.of = 1, .below = [Tree{.of = 2, .below = []}]}",
    ),
    "tuples, `.0`, `()`": _o(
        "t: (u8, u8), first: u8, unit: ()",
        "O(t, t.0, ()) :- E(x, y), var t = (y, x), (var a, 1) = t, a > 0.",
        ".t = (2, 1), .first = 2, .unit = ()",
    ),
    "`bool`, `bit<N>`, `signed<N>` up to 64 bits; `string`, `float`, `double`": _o(
        "b: bool, u: bit<12>, i: signed<8>, s: string, f: float, d: double",
        'O(x > 1, x as bit<12> - 2, -(x as s8), "x${x}", x as float / 2.0, y as double) :- E(x, y), x < 2.',
        '.b = false, .u = 4095, .i = -1, .s = "x1", .f = 0.5, .d = 2',
    ),
    "`bigint`, `bit<N>` and `signed<N>` above 64 bits": _o(
        "b: bigint, w: bit<100>, s: signed<128>",
        "O((x as bigint) << 70, 100'd0 - 1, -1) :- E(x, y), x < 2.",
        f".b = {1 << 70}, .w = {(1 << 100) - 1}, .s = -1",
    ),
    "`Option`, `Result`, `Either`, `Ref`, `Any`": _o(
        "o: Option<u8>, r: Result<u8, string>, e: Either<u8, bool>, ref: Ref<u8>",
        'O(from_any(to_any(x)), Err{"no"}, Right{true}, ref_new(deref(ref_new(y)))) :- E(x, y), x < 2.',
        '.o = ddlog_std::Some{.x = 1}, .r = ddlog_std::Err{.err = "no"}, .e = ddlog_std::Right{.r = true}, .ref = 2',
    ),
    "`Vec`, `Set`, `Map`, `Group`": _o(
        "v: Vec<u8>, s: Set<u8>, m: Map<u8, string>, n: usize",
        'O([y, x], set_singleton(y), [x -> "a"], g.count_distinct()) :- E(x, y), x < 3, var g = y.group_by((x, y)).',
        '.v = [2, 1], .s = [2], .m = [(1, "a")], .n = 1',
        '.v = [3, 2], .s = [3], .m = [(2, "a")], .n = 1',
    ),
    '`Intern`, `istring`, `i"…"`': _o(
        "s: istring, i: Intern<u8>, same: bool",
        'O(s, intern(y), s == i"x1") :- E(x, y), x < 3, var s = intern("x${x}").',
        '.s = "x1", .i = 2, .same = true',
        '.s = "x2", .i = 3, .same = false',
    ),
    r"function types, closures `\|x\| …` and `function(x) {…}`; in relations too": _o(
        "a: u8, b: u8",
        "relation F(f: |u8|: u8)\nF(|n| n + x) :- E(x, _).\n"
        "O(f(10), g(1)) :- F(f), f(0) > 2, var g = function(n: u8): u8 { n * 5 }.",
        ".a = 13, .b = 5",
    ),
    "`extern type`": Refused("extern type Socket\nrelation R(s: Socket)\n", "Socket"),
    "numbers: `15`, `'d15`, `32'd15`, `48'haabb`, `3'b101`, `9'o17`, `8'sd5`, `1.5`, `32'f1.5`, `64'f1.5e3`, "
    "`1_000`": _o(
        "a: u8, b: u32, c: bit<48>, d: bit<3>, e: bit<9>, f: s8, g: float, h: double, i: u16",
        "O('d15, 32'd15, 48'haabb, 3'b101, 9'o17, 8'sd5, 32'f1.5, 64'f1.5e3, 1_000) :- E(1, _).",
        ".a = 15, .b = 15, .c = 43707, .d = 5, .e = 15, .f = 5, .g = 1.5, .h = 1500, .i = 1000",
    ),
    r"strings: escapes, `\u{…}`, lines joined by `\ … \`, adjacent ones, `[\|raw\|]`, `${…}`, `$[\|raw ${…}\|]`": _o(
        "s: string",
        'function to_string(p: P): string { "<${p.a}>" }\ntypedef P = P{a: u8}\n'
        'O("\\t\\u{e9} a\\\n  \\b" "c" [|\\d|] "${P{x}}" $[|\\${x + 1}|]) :- E(x, _), x < 2.',
        '.s = "\\té abc\\\\d<1>\\\\2"',
    ),
    """vectors `[1, 2]`, maps `["a" -> 1]`, constructors by place and by `.name =`""": _o(
        "v: Vec<P>, m: Map<string, u8>",
        'typedef P = P{a: u8, b: u8}\nO([P{x, y}, P{.b = x, .a = y}], ["a" -> x]) :- E(x, y), x < 2.',
        '.v = [P{.a = 1, .b = 2}, P{.a = 2, .b = 1}], .m = [("a", 1)]',
    ),
}
EXPRESSIONS: dict[str, Case] = {
    r"`+ - * / % << >> & \| ^ ~ ++`, comparisons of all types, `and or not =>`": _o(
        "a: u8, b: u16, c: bool",
        "O(x + y * 100 - 7 / 2 % 2 << 1 ^ (~x & 3 | 4), x ++ y, (x, y) < (y, x) and not (x > 1 => false) or x == 1)"
        " :- E(x, y), x < 3.",
        *(
            f".a = {((x + y * 100 - 1) << 1 ^ (~x & 3 | 4)) & 255}, .b = {x << 8 | y}, .c = true"
            for x, y in FIRST[1::-1]
        ),
    ),
    "`e[h:l]`, `e as T`, `e: T`": _o(
        "a: bit<4>, b: s16, c: u8", "O(x[4:1], (x as s8) as s16, (y: u8)) :- E(x, y), x == 3.", ".a = 1, .b = 3, .c = 4"
    ),
    "`if`, `else if`, `match` with nested patterns": _o(
        "x: u8, s: string",
        'function f(o: Option<(u8, u8)>): string { match (o) { Some{(1, _)} -> "one", Some{(var a, b)} -> "${a + b}", '
        'None -> "none" } }\n'
        "O(x, f(o)) :- E(x, y), var o = if (x > 2) None else if (x == 2) Some{(x, y)} else { Some{(1, 0)} }.",
        '.x = 1, .s = "one"',
        '.x = 2, .s = "5"',
        '.x = 3, .s = "none"',
    ),
    "`var x = e`, `var x: T = e`, `(var a, var b) = e`, `C{var x} = e`, assignments to variables and their fields": _o(
        "p: P, n: u8",
        "typedef P = P{a: u8, b: (u8, u8)}\n"
        "function f(x: u8): (P, u8) {\n    var p: P = P{x, (x, x)};\n    (var m, var n) = (p.a + 1, x);\n"
        "    p.b.1 = m;\n"
        "    P{.a = var k} = p;\n    n = n + k;\n    (p, n)\n}\n"
        "O(r.0, r.1) :- E(x, _), x < 2, var r = f(x).",
        ".p = P{.a = 1, .b = (1, 2)}, .n = 2",
    ),
    "`for (p in e)` over vectors, sets, maps and groups; `break`, `continue`, `return`, `?`": _o(
        "x: u8, n: Option<u8>",
        "function f(g: Group<u8, u8>, m: Map<u8, u8>): Option<u8> {\n    var n = 0;\n"
        "    for ((v, w) in g) { if (w < 1) { continue }; n = n + v };\n"
        "    for ((k, v) in m) { if (k == 9) { break }; n = n + v };\n"
        "    for (v in set_singleton(n)) { if (v > 24) { return None } };\n"
        "    Some{[n].nth(0)? + 1}\n}\n"
        "O(x, g.f([1 -> 20, 9 -> 100])) :- E(x, y), var g = y.group_by(x).",
        ".x = 1, .n = ddlog_std::Some{.x = 23}",
        ".x = 2, .n = ddlog_std::Some{.x = 24}",
        ".x = 3, .n = ddlog_std::Some{.x = 25}",
    ),
    "functions: generic, overloaded by parameters and results, `mut` parameters, recursive, `x.f(y)`, "
    "`function f(): T = e`": _o(
        "a: u8, b: string, v: Vec<u8>",
        'function pick(): u8 = 7\nfunction pick(): string { "p" }\n'
        "function twice(v: mut Vec<'A>, x: 'A) { v.push(x); v.push(x) }\n"
        "function down(x: u8): Vec<u8> { if (x == 0) { [] } else { var v = down(x - 1); v.twice(x); v } }\n"
        "O(pick(), pick(), down(x)) :- E(x, _), x == 2.",
        '.a = 7, .b = "p", .v = [1, 1, 2, 2]',
    ),
    "`extern function`": _o(
        "x: u8", "extern function tripled(x: u8): u8\nO(tripled(x)) :- E(x, _).", ".x = 3", ".x = 6", ".x = 9"
    ),
    "an `extern function` with a `.rs` file; `intern::istring_ord`": Refused(
        "extern function only_in_rust(x: u8): u8\noutput relation O(x: u8)\nO(only_in_rust(1)).\n", "only_in_rust"
    ),
    "`intern::istring_ord`": Refused(
        'import intern\noutput relation O(x: u32)\nO(istring_ord(string_intern("a"))).\n', "order in which strings"
    ),
}
SCHOOL = "input relation K(x: u8, y: string)\nprimary key (k) k.x\noutput relation O(y: string)\nO(y) :- K(_, y).\n"
RELATIONS: dict[str, Case] = {
    "`input`, `output` and internal `relation`; `R[T]`, `&R`; facts": _o(
        "x: u8, y: u8",
        "relation R[(u8, u8)]\nR[(8, 9)].\nR[(x, y)] :- E(x, y), x > 2.\nrelation &Q(x: u8, y: u8)\n"
        "Q(x, y) :- R[(x, y)].\nO(q.x, q.y) :- q in &Q().",
        ".x = 3, .y = 4",
        ".x = 8, .y = 9",
    ),
    "`primary key (x) e`": Prints(
        SCHOOL,
        'start; insert K(1, "a"), insert_or_update K(1, "b"); commit dump_changes; start; insert K(1, "c");',
        ("O:", 'O{.y = "b"}: +1', '<commands>:1:82: K has a record with this key already: K{.x = 1, .y = "b"}'),
    ),
    "`multiset`": Prints(
        "input multiset M(x: u8)\noutput multiset N(x: u8)\nN(x) :- M(x).\noutput relation O(x: u8, n: usize)\n"
        "O(x, n) :- M(x), var n = x.group_by(x).count_distinct().\n",
        "start; insert M(1), insert M(1), delete M(2); commit; dump;",
        ("N:", "N{.x = 1} +2", "N{.x = 2} -1", "", "O:", "O{.x = 1, .n = 1}", ""),
    ),
    "`stream`; the differential `S'`": Prints(
        "input stream S(x: u8)\noutput stream T(x: u8)\nT(x + 1) :- S(x).\noutput relation D(x: u8)\nD(x) :- S'(x).\n",
        "start; insert S(1); commit dump_changes; start; insert S(2); commit dump_changes;",
        ("D:", "D{.x = 1}: +1", "T:", "T{.x = 2}: +1", "D:", "D{.x = 1}: -1", "D{.x = 2}: +1", "T:", "T{.x = 3}: +1"),
    ),
    "delays, `R-N`": Prints(
        "input relation R(x: u8)\noutput relation O(x: u8)\nO(x) :- R-2(x).\n",
        "start; insert R(1); commit dump_changes; start; commit dump_changes; start; commit dump_changes;",
        ("O:", "O{.x = 1}: +1"),
    ),
    "`index I(…) on R(…)`": Prints(
        EDGES + "index I(y: u8) on E(_, y)\n",
        "start; insert E(1, 2), insert E(3, 2), insert E(1, 3); commit; query_index I(2);",
        ("E{.x = 1, .y = 2}", "E{.x = 3, .y = 2}"),
    ),
    "atoms by place and by name, `x in R(…)`, `x @ pattern`, `&`, `_`, constants, expressions of known variables": _o(
        "e: E, p: P",
        "typedef P = P{a: u8, b: u8}\nrelation R(p: Ref<P>)\nR(ref_new(P{x, y})) :- E(x, y).\n"
        "O(e, deref(q)) :- R(), e in E(.y = z), R(q @ &P{a, _}), a == z, E(z, z + 1), E(1, 2).",
        ".e = E{.x = 1, .y = 2}, .p = P{.a = 2, .b = 3}",
        ".e = E{.x = 2, .y = 3}, .p = P{.a = 3, .b = 4}",
    ),
    "a variable twice in one atom, `R(x, x)`; streams in `not` or before it; recursion through negation; "
    "casts of floats to integers, of `bigint` to `bit`": Refused(
        EDGES + "output relation O(x: u8)\nO(x) :- E(x, x).\n", "`x` is bound in this pattern"
    ),
    "`not R(…)`": _o("x: u8", "O(y) :- E(_, y), not E(y, _).", ".x = 4"),
    "conditions; assignments with patterns that may not match": _o(
        "x: u8",
        "function odd(x: u8): Option<u8> { if (x % 2 == 1) Some{x} else None }\n"
        "O(z) :- E(x, _), Some{var z} = odd(x), z > 1.",
        ".x = 3",
    ),
    "`var p = FlatMap(e)` of vectors, sets, maps and groups": _o(
        "x: u8, k: u8, n: u8",
        "O(x, 1, v) :- E(x, y), x < 2, var v = FlatMap([x, y]).\n"
        "O(x, k, v) :- E(x, y), x < 2, (var k, var v) = FlatMap([8 -> y]).\n"
        "O(x, 9, v) :- E(x, y), x < 2, var g = y.group_by(x), (var v, _) = FlatMap(g).",
        ".x = 1, .k = 1, .n = 1",
        ".x = 1, .k = 1, .n = 2",
        ".x = 1, .k = 8, .n = 2",
        ".x = 1, .k = 9, .n = 2",
    ),
    "`e.group_by(x)`, by variables and tuples of them, inside of expressions too; the older `Aggregate((x), f(e))`": _o(
        "n: usize, least: u8, most: u8",
        "O(n, 0, 0) :- E(x, y), var n = (x, y).group_by(()).count_distinct().\n"
        "O(1, x, m) :- E(x, y), var m = Aggregate((x), group_max(y)).\n"
        "O(2, x, y) :- E(x, y), x.group_by((x, y)).min() > 2.",
        ".n = 1, .least = 1, .most = 2",
        ".n = 1, .least = 2, .most = 3",
        ".n = 1, .least = 3, .most = 4",
        ".n = 2, .least = 3, .most = 4",
        ".n = 3, .least = 0, .most = 0",
    ),
    "several heads; `for (x in R(…) if c) …`, `for (R(…)) …`, `var … in`, `condition in`, `if`, `match`, `skip`": _o(
        "x: u8",
        "output relation Also(x: u8)\nO(x + 10), Also(x) :- E(x, _), x > 2.\n"
        "for (e in E(.y = y) if y > 2) var z = y * 2 in if (z > 7) O(z) else match (e.x) { 2 -> O(e.x), _ -> skip }\n"
        "for (E(x, _) if x < 3) x != 2 in O(x + 20)",
        ".x = 2",
        ".x = 8",
        ".x = 13",
        ".x = 21",
    ),
    "recursion, also of several relations": _o(
        "x: u8, y: u8",
        "relation Odd(x: u8, y: u8)\nrelation Even(x: u8, y: u8)\nOdd(x, y) :- E(x, y).\n"
        "Even(x, z) :- Odd(x, y), E(y, z).\nOdd(x, z) :- Even(x, y), E(y, z).\nO(x, y) :- Odd(x, y), y - x > 1.",
        ".x = 1, .y = 4",
    ),
    "`Inspect e`": Prints(
        "import print\ninput relation R(x: u8)\noutput relation O(x: u8)\n"
        'O(x) :- R(x), Inspect print("${ddlog_weight} of ${x}").\n',
        "start; insert R(1); commit; start; delete R(1); commit;",
        ("1 of 1", "-1 of 1"),
    ),
    "`apply` of the transformers of `graph`": Follows(
        "import graph\nfunction from(e: E): u8 { e.x }\nfunction to(e: E): u8 { e.y }\noutput relation O[(u8, u8)]\n"
        "apply graph::ConnectedComponents(E, from, to) -> (O)\n",
        ("(1, 1)", "(2, 1)", "(3, 1)", "(4, 1)"),
    ),
    "other transformers, `extern transformer`": Refused(
        "extern transformer Magic(R: relation['E]) -> (S: relation['E])\nrelation R(x: u8)\nrelation S[R]\n"
        "apply Magic(R) -> (S)\n",
        "Magic",
    ),
}
MODULES: dict[str, Case] = {
    "`import a::b`, `import a::b as c`, circles of imports; files beside the program and in `-L`": Prints(
        "import one\nimport parts::two as t\noutput relation O(x: u8)\nO(f(t::g(x))) :- t::R(x).\n",
        "start; insert parts::two::R(3); commit; dump O;",
        ("O{.x = 7}",),
        {
            "one.dl": "import parts::two\nfunction f(x: u8): u8 { x + 1 }\n",
            "parts/two.dl": "import one\ninput relation R(x: u8)\nfunction g(x: u8): u8 { f(x) + 2 }\n",
        },
    ),
    '`#[original = "…"]`, `#[iterate_by_ref = …]`, `#[iterate_by_val = …]`': _o(
        "x: u8",
        "#[iterate_by_ref = iter: 'A]\nextern type List<'A>\n#[original = \"another\"]\nrelation R(x: u8)\n"
        "O(x) :- E(x, 2), R(x).\nR(1).",
        ".x = 1",
    ),
    '`#[rust = "serde(…)"]`': _o(
        "j: Result<string, string>",
        'import json\n#[rust = "serde(tag = \\"kind\\")"]\n'
        'typedef S = #[rust = "serde(rename = \\"n\\")"] Number{x: u8} | Other\n'
        "O(to_json_string(s)) :- E(x, _), x < 2, var s = if (x > 5) Other else Number{x}.",
        '.j = ddlog_std::Ok{.res = "{\\"kind\\":\\"n\\",\\"x\\":1}"}',
    ),
    "`#[deserialize_from_array = f()]`": Prints(
        "import json\ntypedef P = P{id: u8, s: string}\nfunction key(p: P): u8 { p.id }\n"
        "typedef All = All{#[deserialize_from_array = key()] m: Map<u8, P>}\ninput relation R(a: All)\n"
        "output relation O(a: All)\nO(a) :- R(a).\n",
        'start; insert R(@json"{\\"m\\": [{\\"id\\": 3, \\"s\\": \\"c\\"}]}"); commit; dump O;',
        ('O{.a = All{.m = [(3, P{.id = 3, .s = "c"})]}}',),
    ),
    "attributes of Rust's code, such as `size` and `by_val`": _o(
        "x: u8",
        "#[size = 4]\n#[dyn_alloc]\nextern type T\n#[custom_serde]\ntypedef W<'A> = W{x: 'A}\n"
        "#[has_side_effects]\n#[return_by_ref]\nextern function tripled(#[by_val] x: u8): u8\n"
        "O(tripled(x)) :- E(x, _), x < 2.",
        ".x = 3",
    ),
}
KEPT = "input relation R(x: u8)\noutput relation O(x: u8)\nO(x) :- R(x).\nindex I(x: u8) on R(x)\n"
COMMANDS: dict[str, Case] = {
    "`start; commit; commit dump_changes; rollback;`": Prints(
        KEPT,
        "start; insert R(2), insert R(1); commit dump_changes; start; insert R(3); rollback; "
        "start; commit dump_changes;",
        ("O:", "O{.x = 1}: +1", "O{.x = 2}: +1"),
    ),
    "`insert`, `delete`, `insert_or_update`, `delete_key`, `modify`, with commas between them": Prints(
        SCHOOL,
        'start; insert K(1, "a"), insert K(2, "b"), insert_or_update K(1, "c"), modify K 2 <- K{.y = "d"}, '
        'insert K(3, "e"), delete_key K 3, insert K(4, "f"), delete K(4, "f"); commit; dump O;',
        ('O{.y = "c"}', 'O{.y = "d"}'),
    ),
    "`clear R;`": Prints(KEPT, "start; insert R(2), insert R(1); commit; start; clear R; commit; dump O;", ()),
    "`clear R; dump; dump R;`": Prints(
        KEPT, "start; insert R(1); commit; dump; dump O;", ("O:", "O{.x = 1}", "", "O{.x = 1}")
    ),
    "`query_index I(…); dump_index I;`": Prints(
        KEPT,
        "start; insert R(2), insert R(1); commit; query_index I(2); dump_index I;",
        ("R{.x = 2}", "R{.x = 1}", "R{.x = 2}"),
    ),
    "`echo`, `timestamp`, `log_level`, `profile`, `mssleep`, `exit`, `# comments`": Prints(
        KEPT, "echo a b; log_level 3; profile cpu on; mssleep 0; # nothing\nexit; echo c;", ("a b",)
    ),
}
# Rows about details: tests of types, records, functions and sessions check these.
DETAILS = {
    "`signed<N>`",
    "`Any`; closures and functions in relations",
    "a `match` with a missing or an unreachable case; functions that recur deeper than Python's stack",
    "a failing function, such as division by zero",
    "assignment to what is not `mut`; inside conditions and operands",
}
CASES = TYPES | EXPRESSIONS | RELATIONS | MODULES | COMMANDS


@pytest.mark.parametrize("row", CASES, ids=lambda row: row[:60])
def test_each_row_is_what_happens(row: str, tmp_path: Path) -> None:
    case = CASES[row]
    if isinstance(case, Refused):
        with pytest.raises(DelticError, match=re.escape(case.said)):
            _session(case.program)
    elif isinstance(case, Prints):
        _check_prints(case, tmp_path)
    else:
        _check_follows(case)


def test_each_row_has_a_case() -> None:
    assert ROWS
    assert set(ROWS) <= CASES.keys() | DETAILS


def _check_prints(case: Prints, folder: Path) -> None:
    for name, text in case.modules.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    session, lines = _session(case.program, folder)
    expected = list(case.expected)
    try:
        session.run(case.commands)
    except DelticError as error:
        lines.append(str(error).splitlines()[0])
    assert lines == expected


def _check_follows(case: Follows) -> None:
    """The records of the first edges, and those of others after random changes, as a fresh session has them."""
    session, lines = _session(EDGES + case.program)
    session.run(_changes(FIRST, []))
    assert _dumped(session, lines) == [f"O{{{each}}}" if each[0] == "." else each for each in case.expected]
    edges, rng = set(FIRST), random.Random(case.program)
    for _ in range(2):
        flipped = {(rng.randrange(1, 5), rng.randrange(1, 5)) for _ in range(3)}
        session.run(_changes(sorted(flipped - edges), sorted(flipped & edges)))
        edges ^= flipped
    fresh, told = _session(EDGES + case.program)
    fresh.run(_changes(sorted(edges), []))
    assert _dumped(session, lines) == _dumped(fresh, told)


def _session(program: str, folder: Path | None = None) -> tuple[Session, list[str]]:
    """Return a session, and the lines that it prints."""
    lines: list[str] = []
    pipeline = deltic.Pipeline()
    pipeline.function("tripled", lambda x: 3 * x, arguments=["int64"], returns="int64", deterministic=True)
    session = pipeline.ddlog(program, directories=[folder] if folder else [])
    session.write = lines.append
    return session, lines


def _changes(inserted: list[tuple[int, int]], deleted: list[tuple[int, int]]) -> str:
    updates = [f"insert E{edge}" for edge in inserted] + [f"delete E{edge}" for edge in deleted]
    return f"start; {', '.join(updates)}; commit;"


def _dumped(session: Session, lines: list[str]) -> list[str]:
    lines.clear()
    session.run("dump O;")
    return list(lines)
