"""Random programs of Soufflé's constructs: some families of rules each, which read what the ones before derive.

A family is a function of a `Maker`; it adds declarations and layers, of text and of values in one. What a family
derives of whole numbers is `known` to the next ones, so that constructs meet: an aggregate over an inlined relation
of a component, a choice among the classes of an equivalence.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.datalog.by_matching import NIL, Aggregate, Atom, Compare, Either, Layer, Made, Op, Range, Rule, Var, evaluate

HEAD = """.pragma "legacy"
.type Node <: number
.type Other <: number
.type Any = Node | Other
.type List = [head: number, tail: List]
.type Shape = Leaf {} | One {x: number} | Both {a: Shape, b: Shape}
.functor twice(x: number): number
.decl e(x: Node, y: Node)
.decl n(x: Node)
.decl w(s: symbol, x: Node)
.decl l(l: List)
.input e, n, w, l
"""
TABLES = {"e": 2, "n": 1}
ANY = Var("_")


def random_row(rng, table):
    """A row of a table."""
    if table == "l":
        value = NIL
        for _ in range(rng.randrange(3)):
            value = ("[", rng.randrange(3), value)
        return (value,)
    numbers = [rng.randrange(4) for _ in range(2)]
    return {"e": tuple(numbers), "n": (numbers[0],), "w": (rng.choice("ab") * rng.randint(0, 2), numbers[0])}[table]


def least(rows, *places):
    """The least row for each value of some columns."""
    found = {}
    for row in sorted(rows, reverse=True):
        found[tuple(row[i] for i in places)] = row
    return set(found.values())


def equivalence(rows):
    """The pairs that follow in an equivalence."""
    rows = rows | {(b, a) for a, b in rows}
    return rows | {(a, d) for a, b in rows for c, d in rows if b == c}


@dataclass
class Program:
    """The text of a program, its layers, and the views to look at."""

    text: list[str] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    views: list[str] = field(default_factory=list)

    def __str__(self):
        return HEAD + "\n".join(self.text)

    def evaluate(self, tables):
        """The rows of the views."""
        rows = evaluate(self.layers, tables)
        return {name: rows[name] for name in self.views}


class Maker:
    """Makes the bodies of one program's rules; `known` are the relations that they may read, with their widths."""

    def __init__(self, rng):
        self.rng, self.known, self.number, self.program = rng, dict(TABLES), 0, Program()

    def fresh(self, letter="v"):
        self.number += 1
        return Var(f"{letter}{self.number}")

    def name(self, word):
        self.number += 1
        return f"{word}{self.number}"

    def declare(self, name, types, words="", is_seen=True):
        """Declare a relation whose attributes have these types."""
        attributes = ", ".join(f"a{i}: {type_}" for i, type_ in enumerate(types))
        self.program.text.append(f".decl {name}({attributes}) {words}".rstrip())
        if is_seen:
            self.program.views.append(name)

    def layer(self, *rules, is_written=True, **more):
        """Add a layer; its rules are written in any order of literals."""
        if is_written:
            self.program.text += [str(self.shuffled(rule)) for rule in rules]
        self.program.layers.append(Layer(list(rules), **more))

    def shuffled(self, rule):
        return Rule(rule.head, rule.body, tuple(self.rng.sample(rule.body, len(rule.body))))

    # Bodies over whole numbers

    def atom(self, bound, new, negated=False):
        """An atom; what it binds is put into `new`, which is None where it may bind nothing."""
        relation = self.rng.choice(sorted(self.known))
        return Atom(
            relation, tuple(self.term(bound, None if negated else new) for _ in range(self.known[relation])), negated
        )

    def term(self, bound, new):
        dice = self.rng.random()
        if bound and dice < 0.5:
            return Var(self.rng.choice(bound))
        if new is not None and dice < 0.85:
            new.append(self.fresh().name)
            return Var(new[-1])
        return self.rng.randrange(4) if dice < 0.93 else ANY

    def value(self, bound):
        """A term of bound variables, now and then an undefined one."""
        x = Var(self.rng.choice(bound)) if bound else self.rng.randrange(4)
        functor = self.rng.choice(["+", "-", "*", "/", "%", "band", "bxor", "min", "max", "@twice", "", "", ""])
        if functor == "@twice":
            return Twice("twice", (x,))
        return Op(functor, (x, self.rng.choice([*map(Var, bound), 0, 1, 2]))) if functor else x

    def body(self, bound=(), atoms=None, extras=None):
        """Literals in an order in which each has what it needs, and the variables that they bind."""
        bound, found = [*bound], []
        for _ in range(atoms or self.rng.choice([1, 1, 2])):
            new = []
            found.append(self.atom(bound, new))
            bound += new
        for _ in range(self.rng.choice([0, 1, 1, 2]) if extras is None else extras):
            found.append(self.extra(bound))
        return found, bound

    def extra(self, bound):
        kind = self.rng.choice(["absent", "compare", "compute", "either"])
        if kind == "absent":
            return self.atom(bound, None, negated=True)
        if kind == "compute":
            bound.append((variable := self.fresh()).name)
            return Compare("=", variable, self.value(bound[:-1]))
        if kind == "either" and bound:
            bodies = [(self.compare(bound),), (self.atom(bound, None), self.compare(bound))]
            return Either(tuple(self.rng.sample(bodies, 2)))
        return self.compare(bound)

    def compare(self, bound):
        left = Var(self.rng.choice(bound)) if bound else 1
        return Compare(self.rng.choice(["!=", "<", "<=", ">"]), left, self.value(bound))

    def head_of(self, name, width, bound):
        """An atom of bound variables and constants."""
        terms = (self.term(bound, None) for _ in range(width))
        return Atom(name, tuple(self.rng.randrange(4) if term == ANY else term for term in terms))

    def rule(self, name, width, **how):
        body, bound = self.body(**how)
        return Rule(self.head_of(name, width, bound), tuple(body))


class Twice(Op):
    """The functor of Python, which is called with `@`."""

    def __str__(self):
        return "@" + super().__str__()


def plain(make):
    """Rules, recursive or not."""
    name = make.name("p")
    make.declare(name, ["number", "number"])
    rules = [make.rule(name, 2) for _ in range(make.rng.choice([1, 2]))]
    x, y, z = Var("x"), Var("y"), Var("z")
    if make.rng.random() < 0.5:
        step = make.rng.choice([Atom("e", (y, z)), Atom("e", (z, y)), Atom(name, (y, z))])
        rules.append(Rule(Atom(name, (x, z)), (Atom(name, (x, y)), step)))
    make.layer(*rules)
    make.known[name] = 2


def component(make):
    """A component with a parameter, one that inherits and overrides, and an instance within another."""
    rng, base, derived = make.rng, make.name("Base"), make.name("Derived")
    x, y, z = Var("x"), Var("y"), Var("z")
    first = Rule(Atom("path", (x, y)), (Atom("edge", (x, y)),))
    longer = Rule(Atom("path", (x, z)), (Atom("path", (x, y)), Atom("edge", (y, z))))
    both = Rule(Atom("path", (x, y)), (Either(((Atom("edge", (x, y)),), (Atom("edge", (y, x)),))),))
    again = Rule(Atom("path", (x, z)), (Atom("path", (x, y)), Atom("path", (y, z))))
    own = [first, *rng.choice([[], [longer]])]
    overriding = [both, *rng.choice([[], [again]])]
    is_overridden = rng.random() < 0.6
    ends = Rule(Atom("end", (x,)), (Atom("path", (ANY, x)), Atom("path", (x, ANY), rng.random() < 0.5)))
    lines = [f".comp {base}<T> {{", "  .decl edge(x: T, y: T)", "  .decl path(x: T, y: T) overridable"]
    lines += [*(f"  {rule}" for rule in own), "}", f".comp {derived}<T> : {base}<T> {{", "  .decl end(x: T)"]
    lines += ["  .override path"] * is_overridden
    lines += [*(f"  {rule}" for rule in overriding), f"  {ends}", "}"]
    make.program.text += lines
    one, other = make.name("i"), make.name("i")
    outer = make.name("Outer")
    nested = rng.random() < 0.5
    make.program.text += [f".comp {outer} {{", f"  .init inner = {base}<number>", "}"] if nested else []
    place = f"{one}.inner" if nested else one
    make.program.text += [f".init {one} = {outer if nested else base + '<number>'}", f".init {other} = {derived}<Any>"]
    for instance, rules in ((place, own), (other, overriding if is_overridden else [*own, *overriding])):
        make.layer(make.rule(f"{instance}.edge", 2, atoms=1))
        within(make, instance, rules)
        make.program.views += [f"{instance}.edge", f"{instance}.path"]
    within(make, other, [ends])
    make.program.views.append(f"{other}.end")
    make.known |= {f"{place}.path": 2, f"{other}.end": 1}


def within(make, instance, rules):
    """The rules of an instance, which are written in its component."""

    def moved(part):
        if isinstance(part, Atom):
            return Atom(f"{instance}.{part.relation}", part.terms, part.negated)
        return Either(tuple(tuple(map(moved, body)) for body in part.bodies))

    make.layer(*(Rule(moved(rule.head), tuple(map(moved, rule.body))) for rule in rules), is_written=False)


def records(make):
    """Lists taken apart in a recursion and made anew."""
    tails, sums = make.name("tails"), make.name("sums")
    h, t, s, x = (make.fresh() for _ in range(4))
    make.declare(tails, ["List"])
    pair = Made("[", (x, Made("[", (make.value([x.name]), Made("nil")))))
    make.layer(
        Rule(Atom(tails, (t,)), (Atom("l", (t,)),)),
        Rule(Atom(tails, (t,)), (Atom(tails, (Made("[", (ANY, t)),)),)),
        Rule(Atom(tails, (pair,)), (Atom("n", (x,)),)),
    )
    make.declare(sums, ["List", "number"])
    step = make.rng.choice([Op("+", (s, h)), Op("max", (s, h))])
    make.layer(
        Rule(Atom(sums, (Made("nil"), 0)), (Atom(tails, (Made("nil"),)),)),
        Rule(
            Atom(sums, (t, step)),
            (Atom(tails, (t,)), Compare("=", Made("[", (h, x)), t), Atom(sums, (x, s))),
        ),
    )
    found = make.name("found")
    make.declare(found, ["number"])
    make.layer(Rule(Atom(found, (s,)), (Atom(sums, (ANY, s)), *make.body([s.name], 1, 1)[0])))
    make.known[found] = 1


def branches(make):
    """Values of an algebraic data type, made of rows and taken apart."""
    shape, depth = make.name("shape"), make.name("depth")
    a, b, x, d = (make.fresh() for _ in range(4))
    make.declare(shape, ["Shape"])
    body, bound = make.body()
    one = Made("$One", (make.value(bound),))
    other = Made("$One", (Var(make.rng.choice(bound)) if bound else 1,))
    deep = Made("$Both", (other, Made("$Both", (one, Made("$Leaf")))))
    whole = make.rng.choice([one, Made("$Both", (one, other)), deep])
    make.layer(
        Rule(Atom(shape, (whole,)), tuple(body)),
        Rule(Atom(shape, (a,)), (Atom(shape, (Made("$Both", (a, ANY)),)),)),
        Rule(Atom(shape, (b,)), (Atom(shape, (Made("$Both", (ANY, b)),)),)),
    )
    make.declare(depth, ["number"])
    make.layer(
        Rule(Atom(depth, (x,)), (Atom(shape, (Made("$One", (x,)),)), Atom("n", (x,), make.rng.random() < 0.5))),
        Rule(Atom(depth, (9,)), (Atom(shape, (Made("$Leaf"),)),)),
        Rule(Atom(depth, (x,)), (Atom("n", (x,)), Compare("=", d, Made("$One", (x,))), Atom(shape, (d,), True))),
    )
    make.known[depth] = 1


def subsumption(make):
    """Rows that others dominate, by one column or by both."""
    name, a, b, c, d = make.name("best"), Var("a"), Var("b"), Var("c"), Var("d")
    make.declare(name, ["number", "number"])
    lesser = make.rng.choice([True, False])
    if make.rng.random() < 0.6:
        operator = "<" if lesser else ">"
        make.program.text.append(f"{name}(a, b) <= {name}(a, d) :- b {operator} d.")
        dominates = lambda row, other: row[0] == other[0] and (row[1] < other[1] if lesser else row[1] > other[1])  # noqa: E731
    else:
        make.program.text.append(f"{name}({a}, {b}) <= {name}({c}, {d}) :- a <= c, b <= d.")
        dominates = lambda row, other: row != other and row[0] <= other[0] and row[1] <= other[1]  # noqa: E731

    def undominated(rows):
        return {row for row in rows if not any(dominates(row, other) for other in rows)}

    make.layer(*(make.rule(name, 2) for _ in range(2)), at_last={name: undominated})
    make.known[name] = 2


def choice(make):
    """One row for the values of some attributes, or of several."""
    name = make.name("one")
    keys = make.rng.choice([[(0,)], [(0, 1)], [(0,), (1, 2)]])
    domains = ", ".join(f"({', '.join(f'a{place}' for place in key)})" for key in keys)
    make.declare(name, ["number"] * 3, f"choice-domain {domains}")

    def chosen(rows):
        for key in keys:
            rows = least(rows, *key)
        return rows

    make.layer(*(make.rule(name, 3) for _ in range(2)), at_last={name: chosen})
    make.known[name] = 3


def ranges(make):
    """Values of a range between what rows say."""
    name, v = make.name("steps"), make.fresh()
    make.declare(name, ["number", "number"])
    body, bound = make.body(atoms=2)
    ends = [Var(make.rng.choice(bound)) if bound else 0, make.rng.choice([*map(Var, bound), 3])]
    bounds = (*ends, *make.rng.choice([[], [], [2], [-1]]))
    rest = make.rng.choice([[], [Atom("n", (v,))], [make.compare([v.name])]])
    make.layer(Rule(make.head_of(name, 2, [*bound, v.name, v.name]), (*body, Range(v, bounds), *rest)))
    make.known[name] = 2


def aggregates(make):
    """An aggregate with alternatives, nested, or with witnesses, over what is known."""
    name, rng = make.name("agg"), make.rng
    make.declare(name, ["number", "number"])
    rules = []
    for _ in range(rng.choice([1, 2])):
        kind = rng.choice([alternatives, nested, witness])
        body, bound = make.body(extras=0)
        aggregate = kind(make, rng.sample(bound, min(len(bound), rng.randrange(2))))
        bound = [*bound, *aggregate.witnesses, aggregate.result.name, aggregate.result.name]
        last = rng.choice([[], [make.compare(bound)]])
        rules.append(Rule(make.head_of(name, 2, bound), (*body, aggregate, *last)))
    make.layer(*rules)
    make.known[name] = 2


def alternatives(make, given):
    """Over the values that each of some alternatives binds."""
    t = make.fresh()
    names = [*given, t.name]
    bodies = [(Atom("n", (t,)), *make.body(names, 1, 0)[0]), (Atom("e", (t, ANY)), make.compare(names))]
    bodies = bodies[: make.rng.choice([1, 2])]
    function = make.rng.choice(["count", "sum", "min", "max"])
    target = None if function == "count" else make.rng.choice([t, Op("+", (t, 1)), Op("*", (t, t))])
    return Aggregate(make.fresh(), function, target, tuple(bodies), tuple(given))


def nested(make, given):
    """Over bindings that another aggregate of theirs restricts."""
    inner, t = make.fresh(), make.fresh()
    atom = make.rng.choice([Atom("e", (t, inner)), Atom("e", (inner, t))])
    inside = Aggregate(make.fresh(), "count", None, ((atom,),), (t.name,))
    body = (Atom("n", (t,)), inside, Compare(make.rng.choice(["<", ">"]), inside.result, make.rng.randrange(3)))
    function = make.rng.choice(["sum", "max"])
    return Aggregate(make.fresh(), function, make.rng.choice([t, inside.result]), (body,))


def witness(make, given):
    """The least or greatest, and where it is."""
    t, at = make.fresh(), make.fresh()
    atom = make.rng.choice([Atom("e", (t, at)), Atom("e", (at, t))])
    bodies = ((atom, *make.rng.choice([[], [make.compare([t.name, at.name])]])),)
    return Aggregate(make.fresh(), make.rng.choice(["min", "max"]), t, bodies, (), (at.name,))


def inlined(make):
    """A relation whose rules stand in the place of its atoms, also behind `!` and without rows by itself."""
    name, other, x, y = make.name("inl"), make.name("reads"), Var("x"), Var("y")
    make.declare(name, ["number", "number"], "inline", is_seen=False)
    rules = [Rule(Atom(name, (x, y)), (Atom("e", (x, y)), make.compare(["x", "y"])))]
    if make.rng.random() < 0.5:
        rules.append(Rule(Atom(name, (y, x)), (Atom("n", (x,)), Atom("e", (x, y)))))
    make.layer(*rules)
    make.declare(other, ["number", "number"])
    body, bound = make.body(atoms=2, extras=0)
    bound = bound or ["x"]
    terms = (Var(make.rng.choice(bound)), make.rng.choice([ANY, Var(make.rng.choice(bound))]))
    atom = Atom(name, terms, make.rng.random() < 0.5)
    body = body if bound != ["x"] else [Atom("n", (x,))]
    make.layer(Rule(make.head_of(other, 2, bound), (*body, atom)))
    make.known[other] = 2


def subtypes(make):
    """Attributes of subtypes, unions, and texts."""
    name, s, x = make.name("typed"), make.fresh("s"), make.fresh()
    make.declare(name, ["symbol", "Any"])
    value = make.rng.choice([Op("cat", (s, '"b"')), Op("cat", (s, s)), s])
    make.layer(
        Rule(Atom(name, (value, x)), (Atom("w", (s, x)), *make.body([x.name], 1, 0)[0])),
        Rule(Atom(name, ('"a"', x)), (Atom("n", (x,)),)),
    )
    lengths = make.name("lengths")
    make.declare(lengths, ["number", "Node"])
    make.layer(Rule(Atom(lengths, (Op("strlen", (s,)), x)), (Atom(name, (s, x)), Compare("!=", s, '"a"'))))
    make.known[lengths] = 2


def equivalences(make):
    """An equivalence, and one row of each class."""
    name, least_of, x, y, z = make.name("same"), make.name("least"), Var("x"), Var("y"), Var("z")
    make.declare(name, ["number", "number"], "eqrel")
    make.layer(make.rule(name, 2, atoms=1), after={name: equivalence})
    make.declare(least_of, ["number", "number"])
    found = Aggregate(y, "min", z, ((Atom(name, (x, z)),),), ("x",))
    make.layer(Rule(Atom(least_of, (x, y)), (Atom(name, (x, ANY)), found)))
    make.known |= {name: 2, least_of: 2}


FAMILIES = (
    *(plain, component, records, branches, subsumption, choice, ranges, aggregates, inlined, subtypes, equivalences),
    *(aggregates, component),
)


def random_program(seed, families=2):
    """A program of some families."""
    rng = random.Random(seed)
    make = Maker(rng)
    for family in rng.sample(FAMILIES, families):
        family(make)
    return make.program
