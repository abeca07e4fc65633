"""Random recursive programs whose relations are hidden, and queries that ask for parts of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

VARIABLES = "abcdef"
VALUES = range(4)


@dataclass(frozen=True)
class Asking:
    """The text of a program, its tables with the number of their columns, and its hidden relations."""

    text: str
    tables: dict[str, int]
    hidden: dict[str, int]


def asking(rng: random.Random, hint: str = "") -> Asking:
    """One to three mutually recursive relations, and one to three views that join, select, negate or aggregate them.

    `hint` stands behind the declarations of the hidden relations.
    """
    tables = {f"e{i}": rng.choice((1, 2, 2, 2, 3)) for i in range(rng.randint(1, 3))}
    hidden = {f"r{i}": rng.choice((1, 2, 2, 2, 3)) for i in range(rng.randint(1, 3))}
    maker = _Maker(rng, tables, hidden)
    lines = [_declared(name, width, f".input {name}", "") for name, width in tables.items()]
    lines += [_declared(name, width, f'.pragma "hidden" "{name}"', hint) for name, width in hidden.items()]
    lines += [maker.rule(name, is_recursive=number > 0) for name in hidden for number in range(rng.randint(2, 3))]
    lines += [maker.query(f"q{i}") for i in range(rng.randint(1, 3))]
    return Asking("\n".join(lines) + "\n", tables, hidden)


def _declared(name: str, width: int, role: str, hint: str) -> str:
    columns = ", ".join(f"x{i}: number" for i in range(width))
    return f".decl {name}({columns}) {hint}".rstrip() + f"\n{role}"


@dataclass(frozen=True)
class _Maker:
    rng: random.Random
    tables: dict[str, int]
    hidden: dict[str, int]

    def rule(self, head: str, is_recursive: bool) -> str:
        used: list[str] = []
        body = [
            self._atom(
                self.hidden if is_recursive and self.rng.random() < 0.5 else self.tables, used, (0.55, 0.08, 0.05)
            )
            for _ in range(self.rng.randint(1, 3))
        ]
        body += self._conditions(used, self.tables)
        self.rng.shuffle(body)
        values = [
            self.rng.choice(used) if used and self.rng.random() < 0.9 else self._value() for _ in self._columns(head)
        ]
        return f"{head}({', '.join(values)}) :- {', '.join(body)}."

    def query(self, name: str) -> str:
        used: list[str] = []
        body = [self._atom(self.hidden, used, (0.2, 0.4, 0.0)) for _ in range(self.rng.randint(1, 2))]
        if used and self.rng.random() < 0.4:
            body.append(self._atom(self.tables, used, (0.8, 0.0, 0.2)))
        message = f".decl {name}(x: number)\n"
        if used and self.rng.random() < 0.15:
            return message + f"{name}(n) :- n = count : {{ {', '.join(body)} }}."
        if used and self.rng.random() < 0.2:
            table, relation = self._given("k", self.tables), self._given("k", self.hidden)
            return message + f"{name}(n + k) :- {table}, n = count : {{ {relation} }}."
        body += self._conditions(used, self.hidden)
        return message + f"{name}({self.rng.choice(used) if used else self._value()}) :- {', '.join(body)}."

    def _atom(self, relations: dict[str, int], used: list[str], shares: tuple[float, float, float]) -> str:
        """An atom: `shares` are those of variables used before, of constants, and of `_`."""
        name = self.rng.choice(list(relations))
        return f"{name}({', '.join(self._term(used, shares) for _ in range(relations[name]))})"

    def _term(self, used: list[str], shares: tuple[float, float, float]) -> str:
        drawn, (old, constant, any_) = self.rng.random(), shares
        if used and drawn < old:
            return self.rng.choice(used)
        if drawn < old + constant:
            return self._value()
        if drawn < old + constant + any_:
            return "_"
        used.append(self.rng.choice(VARIABLES))
        return used[-1]

    def _conditions(self, used: list[str], absent: dict[str, int]) -> list[str]:
        found = []
        if used and self.rng.random() < 0.25:
            other = self.rng.choice([*used, self._value()])
            found.append(f"{self.rng.choice(used)} {self.rng.choice(('<', '!=', '='))} {other}")
        if used and self.rng.random() < 0.25:
            found.append("!" + self._atom(absent, used, (1.0, 0.0, 0.0)))
        return found

    def _given(self, variable: str, relations: dict[str, int]) -> str:
        name = self.rng.choice(list(relations))
        return f"{name}({', '.join([variable, *['_'] * (relations[name] - 1)])})"

    def _columns(self, head: str) -> range:
        return range(self.hidden[head])

    def _value(self) -> str:
        return str(self.rng.choice(VALUES))
