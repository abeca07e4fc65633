"""Programs as users of Soufflé write them, by its command line: the files that they write, by line, against Python.

Catches a construct that means something else here, a file that is read or written in another way, and a join that looks
at everything: each program ends within seconds, and with joins that do not find their rows it would not.
"""

from __future__ import annotations

import codecs
import itertools
import math
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import command

HERE = Path(__file__).parent / "souffle"
EXPECTED = {}
QUICK = {"points_to", "liveness", "type_inference", "sales", "strings", "override"}
"""Those that are run by default; the others are slow tests."""


def expected(make):
    EXPECTED[make.__name__] = make
    return make


def facts(name, delimiter="\t"):
    return [tuple(line.split(delimiter)) for line in (HERE / "facts" / name).read_text().splitlines()]


def lines(rows, delimiter="\t"):
    return sorted(delimiter.join(map(str, row)) for row in rows)


@pytest.mark.parametrize(
    "name", [pytest.param(p.stem, marks=[] if p.stem in QUICK else pytest.mark.slow) for p in sorted(HERE.glob("*.dl"))]
)
def test_files_are_those_of_souffle(name, tmp_path):
    result = command("run", str(HERE / f"{name}.dl"), "-F", str(HERE / "facts"), "-D", str(tmp_path), "-q")
    assert (result.status, result.err) == (0, "")
    wanted = EXPECTED[name]()
    printed = wanted.pop("", [])
    found = {path.name: path.read_text().splitlines() for path in tmp_path.iterdir()}
    assert {file: sorted(found[file]) for file in found} == {file: sorted(rows) for file, rows in wanted.items()}
    assert result.out.splitlines() == printed


def closure(edges):
    """The pairs of nodes with a path between them."""
    found, fresh = set(edges), set(edges)
    while fresh:
        fresh = {(x, z) for x, y in fresh for v, z in edges if v == y} - found
        found |= fresh
    return found


@expected
def points_to():
    assigns, news = facts("assign.facts"), facts("new.csv", ",")
    loads, stores = facts("Load.facts"), facts("Store.facts")

    def solve(with_fields):
        heap, points = set(), set(news)
        while True:
            more = {(d, o) for s, d in assigns for v, o in points if v == s}
            if with_fields:
                heap = {(o, f, p) for d, f, s in stores for v, o in points for w, p in points if (v, w) == (d, s)}
                more |= {
                    (d, p) for d, s, f in loads for v, o in points if v == s for h, g, p in heap if (h, g) == (o, f)
                }
            if more <= points:
                return points, heap
            points |= more

    points, heap = solve(with_fields=True)
    alias = {(a, b) for a, o in points for b, p in points if o == p and a != b}
    return {
        "fs.vpt.csv": lines(points),
        "fs.alias.csv": lines(alias),
        "fi.vpt.csv": lines(solve(with_fields=False)[0]),
        "": [f"fs.heap\t{len(heap)}"],
    }


@expected
def call_strings():
    calls = [(1, "main", "f"), (2, "main", "f"), (3, "f", "g"), (4, "g", "g"), (5, "g", "h")]
    reached, edges = {((), "main")}, set()
    while True:
        edges = {(c, m, s, (s, *c[:1]), n) for c, m in reached for s, caller, n in calls if caller == m}
        more = {(c, n) for _, _, _, c, n in edges} - reached
        if not more:
            break
        reached |= more
    text = {(): "nil"}
    for c in sorted({c for c, _ in reached} | {c for e in edges for c in (e[0], e[3])}, key=len):
        text[c] = f"[{c[0]}, {text.get(c[1:], f'[{c[-1]}, nil]')}]" if c else "nil"
    return {
        "reachable.csv": lines((text[c], m) for c, m in reached),
        "edges.txt": lines(((text[c], m, s, text[d], n) for c, m, s, d, n in edges), " | "),
    }


@expected
def dominators():
    edges = [tuple(map(int, edge)) for edge in facts("Edge.facts")]
    nodes = {n for edge in edges for n in edge}

    def reached(without=None):
        found = {0} - {without}
        while more := {y for x, y in edges if x in found and y != without} - found:
            found |= more
        return found

    dominated = {(d, n) for d in nodes for n in reached() if n == d or n not in reached(d)}
    strict = {(d, n) for d, n in dominated if d != n}
    immediate = {(d, n) for d, n in strict if not any((d, m) in strict and (m, n) in strict for m in nodes)}
    depth = {0: 0}
    while more := {n: depth[d] + 1 for d, n in immediate if d in depth and n not in depth}:
        depth |= more
    return {"Dom.csv": lines(dominated), "IDom.csv": lines(immediate), "depth.csv": lines(depth.items())}


@expected
def liveness():
    successors, defined, used = facts("succ.facts"), set(facts("def.facts")), set(facts("use.facts"))
    live, out = set(used), set()
    while True:
        out = {(s, v) for s, t in successors for u, v in live if u == t}
        if out - defined <= live:
            break
        live |= out - defined
    pressure = Counter(s for s, _ in out)
    counts = {s: pressure[s] for s, _ in successors}
    return {
        "live_in.csv": lines(live),
        "live_out.csv": ["s\tv", *lines(out)],
        "pressure.csv": lines(counts.items()),
        "maxPressure.csv": [str(max(counts.values()))],
    }


@expected
def dyck():
    brackets = [(1, "(", 2), (2, "[", 3), (3, "]", 4), (4, ")", 5), (5, "(", 6), (6, "]", 7)]
    found = {(n, n) for x, _, y in brackets for n in (x, y)}
    while True:
        more = {(x, w) for x, k, y in brackets for z, c, w in brackets if k + c in ("()", "[]") and (y, z) in found}
        more |= {(x, z) for x, y in found for v, z in found if v == y}
        if more <= found:
            return {"dyck.csv": lines(found)}
        found |= more


@expected
def type_inference():
    plus = "$App($Lam(x, $Int, $Plus($V(x), $Lit(1))), $Lit(41))"
    twice = "$Lam(f, $Fun($Int, $Int), $App($V(f), $App($V(f), $Lit(0))))"
    return {
        "answer.csv": [f"{plus}\t$Int", f"{twice}\t$Fun($Fun($Int, $Int), $Int)"],
        "illtyped.csv": ["$App($Lit(1), $Lit(2))"],
    }


@expected
def paths():
    edges = [(a, b, int(w)) for a, b, w in facts("wedge.facts")]
    nodes = {n for a, b, _ in edges for n in (a, b)}

    def solve(join, better):
        best = {}
        for _ in range(2 * len(nodes)):
            for a, b, w in edges:
                candidates = {(a, b): w} | {(s, b): join(v, w) for (s, t), v in best.items() if t == a}
                best |= {k: v if k not in best else better(best[k], v) for k, v in candidates.items()}
        return best

    shortest, widest = solve(lambda v, w: v + w, min), solve(min, max)
    far = {a: max(w for (s, _), w in shortest.items() if s == a) for a, _, _ in edges}
    return {
        "dist.csv": lines((a, b, w) for (a, b), w in shortest.items()),
        "widest.csv": lines((a, b, w) for (a, b), w in widest.items()),
        "ecc.csv": lines(far.items()),
    }


@expected
def strings():
    words = {word for (word,) in (line or ("",) for line in facts("words.txt", "\n"))} | {""}
    kinds = [(w, "number") for w in words if w.isdigit()]
    kinds += [(w, "vowelly") for w in words if any(a in "aeiou" and b in "aeiou" for a, b in itertools.pairwise(w))]
    kinds += [(w, "has_an") for w in words if "an" in w]
    longest = max(map(len, words))
    return {
        "palindrome.csv": [w for w in words if w == w[::-1]],
        "kind.csv": lines(kinds),
        "num.csv": lines((w, int(w)) for w in words if w.isdigit()),
        "stat.csv": [f"{len(words)}\t{longest}\tlen={longest}; n={len(words)}"],
        "pre.csv": lines({(w, w[:k]) for w in words for k in (1, 2, 3)}),
    }


@expected
def queens():
    def attacks(row, column, other, place):
        return column == place or abs(column - place) == abs(row - other)

    found = [
        p for p in itertools.permutations(range(6))
        if not any(attacks(i, p[i], j, p[j]) for i, j in itertools.combinations(range(6), 2))
    ]  # fmt: skip

    def text(board):
        made = "nil"
        for row, column in enumerate(board, 1):
            made = f"[{column}, {made}, {row}]"
        return made

    return {"solution.csv": list(map(text, found)), "solutions.csv": [str(len(found))]}


@expected
def game():
    lost, won = {0: 0}, {}
    for n in range(1, 30):
        if n % 4:
            won[n] = lost[n - n % 4] + 1
        else:
            lost[n] = won[n - 1] + 1
    return {"lose.csv": lines(lost.items()), "win.csv": lines(won.items())}


@expected
def components():
    edges = {(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (6, 6), (1, 4), (4, 7)}
    paths_, nodes = closure(edges), {n for edge in edges for n in edge}
    same = {(x, y) for x in nodes for y in nodes if x == y or {(x, y), (y, x)} <= paths_}
    least = {x: min(y for z, y in same if z == x) for x in nodes}
    between = {(least[x], least[y]) for x, y in edges if least[x] != least[y]}
    all_ = closure(between)
    reduced = {(a, b) for a, b in between if not any({(a, c), (c, b)} <= all_ for c in nodes)}
    return {
        "same.csv": lines(same),
        "repr.csv": lines(least.items()),
        "reduced.csv": lines(reduced),
        "": [f"tc\t{len(paths_)}"],
    }


@expected
def turing():
    rules = {
        ("right", "0"): ("right", "0", 1), ("right", "1"): ("right", "1", 1), ("right", "_"): ("carry", "_", -1),
        ("carry", "1"): ("carry", "0", -1), ("carry", "0"): ("halt", "1", 0), ("carry", "_"): ("halt", "1", 0),
    }  # fmt: skip
    tape, state, head, course = dict(enumerate("1011")), "right", 0, []
    for time in itertools.count():
        course.append((time, state, head))
        if state == "halt":
            break
        state, tape[head], move = rules[state, tape.get(head, "_")]
        head += move
    return {"config.csv": lines(course), "final.csv": lines((i, s) for i, s in tape.items() if s != "_")}


@expected
def sales():
    rows = [(int(i), n, d, float(s), int(b)) for i, n, d, s, b in facts("emp.csv", ",")[1:]]
    groups = {d: [s for _, _, e, s, _ in rows if e == d] for _, _, d, _, _ in rows}

    def shown(value):
        return f"{value:.17g}"

    def values(found):
        return len(found), *map(shown, (sum(found), sum(found) / len(found), min(found), max(found)))

    rich = [n for _, n, d, s, _ in rows if s == max(groups[d])]
    pay = {i: s for i, _, _, s, _ in rows}
    return {
        "s.csv": ["d,n,tot,avg,lo,hi", *lines(((d, *values(found)) for d, found in groups.items()), ",")],
        "rich.csv": ['"' + n.replace('"', '""') + '"' for n in rich],
        "above.csv": lines((n, shown(s - pay[b])) for _, n, _, s, b in rows if s > pay.get(b, math.inf)),
        "nobody.csv": [n for i, n, _, _, _ in rows if i not in {row[4] for row in rows}],
        "total.csv": [shown(math.fsum(pay.values()))],
    }


@expected
def hanoi():
    return {"answer.csv": [str(2**10 - 1)]}


@expected
def tak():
    asked = {}

    def value(x, y, z):
        if (x, y, z) not in asked:
            smaller = [value(x - 1, y, z), value(y - 1, z, x), value(z - 1, x, y)] if y < x else None
            asked[x, y, z] = value(*smaller) if smaller else z
        return asked[x, y, z]

    return {"res.csv": [str(value(12, 8, 4))], "": [f"tak\t{len(asked)}"]}


@expected
def water():
    states, steps = {(0, 0)}, 0
    while not any(a == 4 for a, _ in states):
        poured = {(a - m, b + m) for a, b in states for m in (min(a, 3 - b),)}
        poured |= {(a + m, b - m) for a, b in states for m in (min(b, 5 - a),)}
        states = poured | {s for a, b in states for s in ((5, b), (a, 3), (0, b), (a, 0))}
        steps += 1
    return {"best.csv": [str(steps)]}


@expected
def josephus():
    people, start, victims = list(range(20)), 0, []
    while len(people) > 1:
        place = (start + 2) % len(people)
        victims.append((len(victims), place, people.pop(place)))
        start = place % len(people)
    return {"survivor.csv": [str(people[0])], "victim.csv": lines(victims)}


@expected
def congruence():
    a, b, c = "[a, nil]", "[b, nil]", "[c, nil]"
    fa, fc = (f"[f, [{x}, nil]]" for x in (a, c))
    first, second = f"[g, [{fc}, [{a}, nil]]]", f"[g, [{b}, [{c}, nil]]]"
    classes = [{a, c}, {fa, fc, b}, {first, second}]
    return {"eq.csv": lines((x, y) for found in classes for x in found for y in found)}


@expected
def search_tree():
    three = "$Node($Node($Leaf, 1, $Leaf), 3, $Node($Leaf, 4, $Leaf))"
    return {"final.csv": [f"$Node({three}, 5, $Node($Leaf, 8, $Leaf))"]}


@expected
def override():
    rule = "==============="
    return {
        "b.i.q.csv": list(map(str, range(5))),
        "": ["-" * len(rule), "s.out", rule, *(f"{x}\tbase" for x in (3, 4)), rule, "s.r\t2"],
    }


@expected
def magic_square():
    def is_magic(p):
        rows = [p[0:3], p[3:6], p[6:9]]
        sums = [*map(sum, rows), *map(sum, zip(*rows, strict=True)), p[0] + p[4] + p[8], p[2] + p[4] + p[6]]
        return {*sums} == {15}

    return {"sq.csv": lines(filter(is_magic, itertools.permutations(range(1, 10))))}


@expected
def permutations():
    return {"full.csv": [str(math.factorial(5))]}


@expected
def subsequence():
    one, other = (
        "the quick brown fox jumps over the lazy dog again",
        "a lazy quick foxes jumping the brown dogs over and",
    )
    row = [0] * (len(other) + 1)
    for x in one:
        row = list(itertools.accumulate(range(len(other)), lambda left, j, r=row, x=x: (
            r[j] + 1 if other[j] == x else max(left, r[j + 1])), initial=0))  # fmt: skip
    return {"lcs.csv": [str(row[-1])]}


@expected
def sorting():
    made = "nil"
    for x in sorted({i * 7919 % 1009 for i in range(200)}, reverse=True):
        made = f"[{x}, {made}]"
    return {"sorted.csv": [made]}


@expected
def tic_tac_toe():
    rows_of_three = [
        *((i, i + 1, i + 2) for i in (0, 3, 6)),
        *((i, i + 3, i + 6) for i in range(3)),
        (0, 4, 8),
        (2, 4, 6),
    ]

    def is_won(board):
        return any(board[a] and board[a] == board[b] == board[c] for a, b, c in rows_of_three)

    boards, wanted = {(0,) * 9}, []
    for move in range(10):
        wanted.append((move, len(boards), sum(map(is_won, boards))))
        boards = {
            (*board[:place], move % 2 + 1, *board[place + 1 :])
            for board in boards
            for place in range(9)
            if not board[place] and not is_won(board)
        }
    return {"stat.csv": lines(wanted)}


@expected
def recoding():
    texts = ["aaabbc", "hello, world", "a,b,,c"]
    parts = [(text, text.split(",")) for text in texts]
    starts = [
        (text, -1 + sum(len(part) + 1 for part in found[:i]), found[i])
        for text, found in parts
        for i in range(len(found))
    ]
    return {
        "enc.csv": lines((text, "".join(f"{c}{len([*run])}" for c, run in itertools.groupby(text))) for text in texts),
        "rot.csv": lines((text, codecs.encode(text, "rot13")) for text in texts),
        "part.csv": lines(starts),
    }
