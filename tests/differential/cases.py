"""A random Datalog program with a run: whether the engine fails on it, and how the failure is shown."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from deltic.circuit.graph import Circuit
from deltic.datalog import check, lower, parse
from deltic.errors import DelticError
from tests.differential.compare import Contents, Disagreement, MakeEngine, ReferenceFailed, first_disagreement
from tests.differential.datalog import Atom, Or, Program, Rule
from tests.differential.random_programs import random_program, random_run
from tests.differential.shrink import smaller_runs

SCRIPT = '''\
from deltic.algebra import ZSet
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine, from_arrow, to_arrow

PROGRAM = """
{program}"""
RUN = [  # the tables' contents after each epoch
{run}
]
circuit = lower(check([parse(PROGRAM)]))
schemas = {{op.name: op.schema for op in circuit.operators if op.keyword == "source"}}
engines = IncrementalEngine(circuit), ReferenceEngine(circuit)
old = {{name: ZSet() for name in schemas}}
for epoch, contents in enumerate(RUN):
    new = {{name: ZSet.of(contents[name]) for name in schemas}}
    batches = {{name: to_arrow(new[name] - old[name], schemas[name]) for name in schemas}}
    actual, expected = ({{n: from_arrow(b) for n, b in e.apply(batches).changes.items()}} for e in engines)
    print(epoch, "ok" if actual == expected else f"expected {{expected}}, actual {{actual}}")
    old = new
'''


@dataclass(frozen=True)
class Case:
    """A program and the contents of its tables after each epoch."""

    program: Program
    run: tuple[Contents, ...]

    @classmethod
    def random(cls, seed: int) -> Case:
        rng = random.Random(seed)
        program = random_program(rng)
        return cls(program, tuple(random_run(rng, program)))

    def circuit(self) -> Circuit:
        return lower(check([parse(str(self.program))]))

    def disagreement(self, make: MakeEngine) -> Disagreement | None:
        return first_disagreement(self.circuit(), self.run, make)

    def fails(self, make: MakeEngine) -> bool:
        """Whether the engine disagrees; False for a program that is none."""
        try:
            return self.disagreement(make) is not None
        except (DelticError, ReferenceFailed):
            return False

    def smaller(self) -> Iterator[Case]:
        """The case with a part less: a rule, a literal, a head, a relation that nothing mentions, an epoch, a row."""
        rules = self.program.rules
        for i, rule in enumerate(rules):
            for smaller in ([], *([r] for r in _smaller_rules(rule))):
                yield replace(self, program=replace(self.program, rules=(*rules[:i], *smaller, *rules[i + 1 :])))
        for i in range(len(self.program.relations)):
            kept = self.program.relations[:i] + self.program.relations[i + 1 :]
            names = {r.name for r in kept}
            run = tuple({n: rows for n, rows in contents.items() if n in names} for contents in self.run)
            yield Case(replace(self.program, relations=kept), run)
        for run in smaller_runs(self.run):
            yield replace(self, run=tuple(run))

    def script(self, make: MakeEngine) -> str:
        """A program that one can paste, and what is wrong."""
        run = "\n".join(f"    {_shown(contents)}," for contents in self.run)
        return f"{SCRIPT.format(program=self.program, run=run)}\n# {self.disagreement(make)}".replace("\n  ", "\n  ")


def _shown(contents: Contents) -> str:
    rows = {name: sorted(rows) for name, rows in sorted(contents.items())}
    return repr(rows)


def _smaller_rules(rule: Rule) -> Iterator[Rule]:
    if len(rule.heads) > 1:
        for head in rule.heads:
            yield replace(rule, heads=(head,))
    for i, literal in enumerate(rule.body):
        rest = (rule.body[:i], rule.body[i + 1 :])
        yield replace(rule, body=rest[0] + rest[1])
        for branch in literal.branches if isinstance(literal, Or) else ():
            yield replace(rule, body=rest[0] + branch + rest[1])
        if isinstance(literal, Atom) and literal.negated:
            yield replace(rule, body=(*rest[0], replace(literal, negated=False), *rest[1]))
