"""Random programs that are well typed, bound, stratified and finite, with random contents of their tables.

Views of one level may depend on each other and on lower levels, on lower levels by negation too. In a rule
that uses a view of its own level, values are computed only by functors with few values.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

DECLARATIONS = """\
.type Count <: number
.decl t(x: number, y: Count)
.decl u(x: number)
.decl s(name: symbol, n: number)
.decl flag()
.decl a(x: number, y: number)
.decl b(x: number)
.decl c(name: symbol, n: number)
.decl d(x: number, y: number)
.decl go()
.decl g(x: number, f: float)
.decl h(x: number)
.input t
.input d
"""
TYPES = {
    **dict.fromkeys(("t", "a", "d"), "nn"),
    **dict.fromkeys(("u", "b", "h"), "n"),
    **dict.fromkeys(("s", "c"), "sn"),
    **dict.fromkeys(("flag", "go"), ""),
    "g": "nf",
}
TABLES = ("t", "u", "s", "flag", "d")
LEVELS = {"t": 0, "u": 0, "s": 0, "flag": 0, "a": 1, "b": 1, "c": 2, "d": 2, "go": 3, "g": 3, "h": 4}
VIEWS = ("a", "b", "c", "d", "go", "g", "h")
VARIABLES = {"n": ("x", "y", "z"), "s": ("p", "q"), "f": ("r",)}
CONSTANTS = {"n": ("0", "1", "2", "-1", "0b11"), "s": ('"a"', '"b"', '"ab"', '"1"', '""'), "f": ("0.5", "1.0")}
ROWS = {
    "n": st.integers(-1, 3),
    "s": st.sampled_from(["a", "b", "ab", "1", ""]),
}

Draw = Callable[[st.SearchStrategy], object]


@st.composite
def programs(draw: Draw, aggregates: bool = False) -> str:
    """The text of a program over `DECLARATIONS`; if asked for, with an aggregate in each of one to three rules."""
    views = ("a", "b", "d", "h") if aggregates else VIEWS
    heads = draw(st.lists(st.sampled_from(views), min_size=1, max_size=3 if aggregates else 6))
    rules = [_rule(draw, head, aggregates) for head in heads]
    return DECLARATIONS + "\n".join(rules) + "\n"


contents = st.fixed_dictionaries(
    {
        name: st.sets(st.tuples(*(ROWS[kind] for kind in TYPES[name])), max_size=1 if name == "flag" else 5)
        for name in TABLES
    }
)


class _Rule:
    """A rule under construction: which variables have values, and whether it is recursive."""

    def __init__(self, draw: Draw, head: str) -> None:
        self.draw, self.level = draw, LEVELS[head]
        self.bound: dict[str, list[str]] = {"n": [], "s": [], "f": []}
        self.recursive = False

    def one_of(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def atom(self) -> str:
        """An atom that may bind variables."""
        names = [name for name, level in LEVELS.items() if level <= self.level]
        name = self.one_of(*names)
        self.recursive |= LEVELS[name] == self.level
        computed = {kind: list(variables) for kind, variables in self.bound.items()}
        return f"{name}({', '.join(self._place(kind, computed) for kind in TYPES[name])})"

    def _place(self, kind: str, computed: dict[str, list[str]]) -> str:
        choice = self.one_of("variable", "variable", "variable", "variable", "_", "constant", "computed")
        if choice == "variable":
            variable = self.one_of(*VARIABLES[kind])
            self.bound[kind].append(variable)
            return variable
        if choice == "computed" and kind == "n" and computed["n"]:
            return f"{self.one_of(*computed['n'])} + 1"
        return "_" if choice == "_" else self.one_of(*CONSTANTS[kind])

    def value(self, kind: str) -> str:
        """An expression over bound variables."""
        plain = [*self.bound[kind], self.one_of(*CONSTANTS[kind])]
        if self.draw(st.booleans()):
            return self.one_of(*plain)
        return {"n": self._number, "s": self._symbol, "f": self._float}[kind](lambda: self.one_of(*plain))

    def _number(self, part: Callable[[], str]) -> str:
        x, y = part(), part()
        few = [f"({x} + {y}) % 4", f"{x} band 3", f"min({x}, {y})", f"max({x}, {y}, 1)", f"{x} land {y}", f"lnot {x}"]
        few += [f"strlen({self.one_of(*self.bound['s'])})"] if self.bound["s"] else []
        many = [f"{x} + {y}", f"{x} - {y}", f"{x} * {y}", f"{x} / {y}", f"{x} % {y}", f"-{x} ^ 2", f"{x} bxor {y}"]
        many += [f"{x} bshl {y}", f"bnot {x}", f"to_number(to_string({x}))", f"as({x}, Count)"]
        return self.one_of(*(few if self.recursive else few + many))

    def _symbol(self, part: Callable[[], str]) -> str:
        p, q = part(), part()
        few = [f"substr({p}, 0, 1)", f"min({p}, {q})"]
        return self.one_of(*(few if self.recursive else [*few, f"cat({p}, {q})", f"{p} + {q}"]))

    def _float(self, part: Callable[[], str]) -> str:
        few = [f"to_float({self.one_of(*self.bound['n'])})"] if self.bound["n"] else []
        return self.one_of(*few, f"{part()} / 2.0", f"{part()} * {part()}")

    def condition(self) -> str:
        """A literal that binds nothing but, now and then, a variable by an equation."""
        kind = self.one_of("compare", "compare", "negate", "negate", "equate", "either", "test", "not")
        return getattr(self, f"_{kind}")()

    def _compare(self) -> str:
        kind = self.one_of(*(kind for kind in "nsf" if self.bound[kind] or kind == "n"))
        return f"{self.value(kind)} {self.one_of('=', '!=', '<', '<=', '>', '>=')} {self.value(kind)}"

    def _negate(self) -> str:
        names = [name for name, level in LEVELS.items() if level < self.level or name in ("t", "u", "s", "flag")]
        name = self.one_of(*names)
        values = [self.one_of("_", self.value(kind)) for kind in TYPES[name]]
        return f"!{name}({', '.join(values)})"

    def _equate(self) -> str:
        variable, value = self.one_of(*VARIABLES["n"]), self.value("n")
        self.bound["n"].append(variable)
        return f"{variable} = {value}" if self.draw(st.booleans()) else f"{value} = {variable}"

    def aggregate(self) -> str:
        """A variable, often of the head, that equals an aggregate."""
        value = self._aggregated(("k", "l"))
        self.bound["n"] += ["w", "w", "w"]
        return f"w = {self.one_of('', '1 + ')}{value}"

    def _aggregated(self, own: tuple[str, ...]) -> str:
        """An aggregate over one to three atoms, with names of its own and of the rule."""
        atoms = [self._inner_atom(own) for _ in range(self.draw(st.integers(1, 2)))]
        parts = [self.one_of("t(k, l)", "d(l, k)" if self.level > LEVELS["d"] else "t(l, k)"), *atoms]
        if self.draw(st.booleans()):
            limit = self.one_of("l", "2", *([] if self.recursive else self.bound["n"]))
            parts.append(f"k {self.one_of('<', '!=', '>=')} {limit}")
        if "m" not in own and self.draw(st.integers(0, 3)) == 0:
            parts.append(f"l {self.one_of('<=', '=')} {self._aggregated(('k', 'm'))}")
        function = self.one_of("count", "sum", "min", "max")
        target = "" if function == "count" else self.one_of("k", "l", "k + l", "k / l", "k * 3", "x + k")
        parts += ["u(x)"] if "x" in target else []
        body = ", ".join(self.draw(st.permutations(parts)))
        return f"{function} {target} : {{ {body} }}"

    def _inner_atom(self, own: tuple[str, ...]) -> str:
        names = [name for name, level in LEVELS.items() if level < self.level or name in ("t", "u", "s", "flag")]
        name = self.one_of(*names)
        outside = {} if self.recursive and "m" in own else self.bound
        places = {"n": [*own, "_", "1"], "s": ["j", "_", '"a"'], "f": ["i", "_"]}
        for kind in outside:
            places[kind] += self.bound[kind]
        return f"{name}({', '.join(self.one_of(*places[kind]) for kind in TYPES[name])})"

    def _either(self) -> str:
        """Alternatives that all bind one new variable, or none."""
        variable = self.one_of(*VARIABLES["n"])
        first, second = f"t({variable}, _)", f"u({variable}), {self._compare()}"
        third = f"{variable} = {self.value('n')}"
        self.bound["n"].append(variable)
        return f"({first}; {second}; {third})"

    def _not(self) -> str:
        return f"!({self._compare()}{self.one_of(';', ',')} {self._negate()})"

    def _test(self) -> str:
        p, q = self.value("s"), self.value("s")
        return self.one_of("", "!") + self.one_of(f"contains({p}, {q})", f'match("a.*", {q})')


def _rule(draw: Draw, head: str, aggregates: bool) -> str:
    rule = _Rule(draw, head)
    parts = [rule.atom() for _ in range(draw(st.integers(0, 3)))]
    parts += [rule.condition() for _ in range(draw(st.integers(0, 0 if aggregates else 2)))]
    parts += [rule.aggregate()] if aggregates else []
    heads = f"{head}({', '.join(rule.value(kind) for kind in TYPES[head])})"
    parts = draw(st.permutations(parts))
    return f"{heads} :- {', '.join(parts)}." if parts else f"{heads}."
