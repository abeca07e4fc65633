"""Re-discovery and scheduling [ELA §4.2], with and without: index entries that the searches of updates visit.

`python benchmarks/rediscovery.py` runs the Update of `deltic_theory.elastic` on small graphs, and in each of its
iterations counts what a search for the same proofs visits, in each way. All ways have to find the same proofs. The
counts are the same on any machine.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness import report

from deltic_theory.elastic import evaluation
from deltic_theory.elastic.evaluation import Iteration, bootstrap, iterations, support, update
from deltic_theory.elastic.rules import Atom, Fact, Facts, Instantiation, Rule

Binding = Mapping[str, Any]
Proofs = Counter[Fact]

NOTES = """\
Re-discovery: the proofs that lost rows still have. whole: all proofs of the iteration, of which those of lost rows are
taken. lost row first, as written: each lost row binds all variables of the head, the atoms follow as the rule has them.
filters: the paper's; one variable of the lost rows comes first, each other one is tested behind the atom that binds it.
Deltic: as the second, but the atom with the fewest matches is next; intersections of sorted ranges do the same.
Scheduling: the proofs that changed rows take away or give. as written: the atoms in the order of the rule, a change in
its place. change first: then by bound columns, as Deltic plans it. {edges} single edges go and come back in each graph.
Median and greatest number of entries in an epoch. closure: p(x, z) ← p(x, y), e(y, z). doubling: p(x, z) ← p(x, y),
p(y, z). same: s(x, y) ← e(a, x), s(a, b), e(b, y). common: the paper's rule, c(x, y, z) ← p(x, a), p(y, a), p(z, a)."""
EDGES = 12


def rule(head: str, *body: str) -> Rule:
    """A rule: `p x z`, `p x y`, `e y z`."""
    first, *others = (Atom(name, tuple(variables)) for name, *variables in map(str.split, (head, *body)))
    return Rule(first, tuple(others))


BASE = rule("p x y", "e x y")
CLOSURE = [BASE, rule("p x z", "p x y", "e y z")]
PROGRAMS = {
    "closure": CLOSURE,
    "doubling": [BASE, rule("p x z", "p x y", "p y z")],
    "same": [rule("s x y", "e a x", "e a y"), rule("s x y", "e a x", "s a b", "e b y")],
    "common": [*CLOSURE, rule("c x y z", "p x a", "p y a", "p z a")],
}


class Index:
    """Facts by their relation and some of their columns; `visited` counts the entries that searches met."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.visited = facts, 0
        self._by: dict[tuple[str, tuple[int, ...]], dict[tuple[Any, ...], list[Fact]]] = {}

    def matches(self, atom: Atom, binding: Binding) -> list[Fact]:
        """The facts that an atom may be, by its bound columns."""
        bound = tuple(i for i, name in enumerate(atom.variables) if name in binding)
        if (key := (atom.relation, bound)) not in self._by:
            found = self._by[key] = defaultdict(list)
            for fact in self.facts:
                if fact[0] == atom.relation:
                    found[tuple(fact[1][i] for i in bound)].append(fact)
        return self._by[key].get(tuple(binding[atom.variables[i]] for i in bound), [])

    def bindings(self, atoms: Sequence[Atom], binding: Binding, keeps: Callable[[Binding], bool]) -> Iterator[Binding]:
        """What binds the atoms, in their order."""
        if not atoms:
            yield binding
            return
        for fact in self.matches(atoms[0], binding):
            self.visited += 1
            if (more := extended(atoms[0], fact, binding)) is not None and keeps(more):
                yield from self.bindings(atoms[1:], more, keeps)

    def bindings_of_fewest(self, atoms: Sequence[Atom], binding: Binding) -> Iterator[Binding]:
        """What binds the atoms, that with the fewest matches next."""
        if not atoms:
            yield binding
            return
        least = min(atoms, key=lambda atom: len(self.matches(atom, binding)))
        rest = list(atoms)
        rest.remove(least)
        for fact in self.matches(least, binding):
            self.visited += 1
            if (more := extended(least, fact, binding)) is not None:
                yield from self.bindings_of_fewest(rest, more)


def extended(atom: Atom, fact: Fact, binding: Binding) -> Binding | None:
    """The binding with what an atom has of a fact; None where they do not agree."""
    more = dict(binding)
    for name, value in zip(atom.variables, fact[1], strict=True):
        if more.setdefault(name, value) != value:
            return None
    return more


def anything(_: Binding) -> bool:
    return True


Way = Callable[[Rule, Index, Facts, Facts], Iterator[Binding]]
"""Bindings of a rule's body in an index, by the facts that are new and those that are sought."""


def whole(one: Rule, known: Index, new: Facts, lost: Facts) -> Iterator[Binding]:
    for i, atom in enumerate(one.body):
        others = [*one.body[:i], *one.body[i + 1 :]]
        for fact in new:
            known.visited += fact[0] == atom.relation
            if fact[0] == atom.relation and (binding := extended(atom, fact, {})) is not None:
                for found in known.bindings(others, binding, anything):
                    if not any(before.under(found) in new for before in one.body[:i]):
                        yield found


def lost_first(one: Rule, known: Index, new: Facts, lost: Facts) -> Iterator[Binding]:
    for binding in of_head(one, known, lost):
        yield from known.bindings(one.body, binding, anything)


def deltic(one: Rule, known: Index, new: Facts, lost: Facts) -> Iterator[Binding]:
    for binding in of_head(one, known, lost):
        yield from known.bindings_of_fewest(one.body, binding)


def of_head(one: Rule, known: Index, lost: Facts) -> Iterator[Binding]:
    """Lost rows of the head."""
    for fact in lost:
        if fact[0] == one.head.relation and (binding := extended(one.head, fact, {})) is not None:
            known.visited += 1
            yield binding


def filters(one: Rule, known: Index, new: Facts, lost: Facts) -> Iterator[Binding]:
    rows = [fact[1] for fact in lost if fact[0] == one.head.relation]
    values = {name: {row[i] for row in rows} for i, name in enumerate(one.head.variables)}
    first = next(name for name in one.body[0].variables if name in values)
    keeps = lambda binding: all(binding[name] in known for name, known in values.items() if name in binding)  # noqa: E731
    for value in values[first]:
        known.visited += 1
        yield from known.bindings(one.body, {first: value}, keeps)


def as_written(one: Rule, known: Index, new: Facts, changed: Facts) -> Iterator[Binding]:
    """For each atom the change in its place."""
    for i, atom in enumerate(one.body):
        change = Index(frozenset(fact for fact in changed if fact[0] == atom.relation))
        for before in known.bindings(one.body[:i], {}, anything):
            for found in change.bindings([atom], before, anything):
                yield from first_of(one, i, changed, known.bindings(one.body[i + 1 :], found, anything))
        known.visited += change.visited


def change_first(one: Rule, known: Index, new: Facts, changed: Facts) -> Iterator[Binding]:
    for i, atom in enumerate(one.body):
        others = [*one.body[:i], *one.body[i + 1 :]]
        for fact in changed:
            if fact[0] == atom.relation and (binding := extended(atom, fact, {})) is not None:
                known.visited += 1
                yield from first_of(one, i, changed, known.bindings_of_fewest(others, binding))


def first_of(one: Rule, i: int, changed: Facts, found: Iterator[Binding]) -> Iterator[Binding]:
    """Those whose first changed fact is that of atom i, so that each is found once."""
    return (binding for binding in found if not any(atom.under(binding) in changed for atom in one.body[:i]))


REDISCOVERY: dict[str, Way] = {"whole": whole, "lost first": lost_first, "filters": filters, "Deltic": deltic}
SCHEDULING: dict[str, Way] = {"as written": as_written, "change first": change_first}


def indexed(
    rules: Sequence[Rule], facts: Facts, among: Facts, absent_from: Facts | None = None
) -> Iterator[Instantiation]:
    """`instantiations`, quicker: for rules without negation."""
    index = Index(facts)
    for number, one in enumerate(rules):
        for binding in change_first(one, index, among, among & facts):
            yield Instantiation(number, one.head.under(binding), tuple(a.under(binding) for a in one.body), ())


def counted(
    rules: Sequence[Rule], ways: Mapping[str, Way], facts: Facts, new: Facts, sought: Facts, among: Facts
) -> Counter[str]:
    """The entries that each way visits; all find the same proofs, those of heads `among`."""
    entries, proofs = Counter[str](), list[Proofs]()
    for name, way in ways.items():
        index = Index(facts)
        found = [(one, binding) for one in rules for binding in way(one, index, new, sought)]
        heads = ((one.head.under(b), new.isdisjoint(a.under(b) for a in one.body)) for one, b in found)
        proofs.append(Counter(head for head, is_old in heads if not is_old and (not among or head in among)))
        entries[name] = index.visited
    assert all(other == proofs[0] for other in proofs), ways
    return entries


def epoch(rules: Sequence[Rule], old: evaluation.Proofs, gone: Facts, come: Facts) -> Counter[str]:
    """What one update visits, in each way."""
    total, steps = Counter[str](), list(iterations(rules, old, gone, come))
    for now in steps[:-1]:
        total += search(rules, now)
    return total


def search(rules: Sequence[Rule], now: Iteration) -> Counter[str]:
    """What the searches of one iteration visit."""
    new, both = support(now.proofs), now.old_known & now.known
    found = counted(rules, REDISCOVERY, both, new & both, now.lost, now.lost) if now.lost else Counter[str]()
    for facts, added, changed in (
        (now.old_known, support(now.old_proofs), now.lost),
        (now.known, new, now.gained),
    ):
        if changed & facts:
            found += counted(rules, SCHEDULING, facts, added, changed & facts, frozenset())
    return found


def layers(rng: random.Random) -> set[tuple[int, int]]:
    """Six layers of six nodes, two edges from each node to the next layer."""
    return {(6 * d + i, 6 * (d + 1) + j) for d in range(5) for i in range(6) for j in rng.sample(range(6), 2)}


def circles(rng: random.Random) -> set[tuple[int, int]]:
    """A circle of twenty nodes with ten chords."""
    ring = {(i, (i + 1) % 20) for i in range(20)}
    return ring | {(rng.randrange(20), rng.randrange(20)) for _ in range(10)}


def tree(rng: random.Random) -> set[tuple[int, int]]:
    """Sixty nodes, each below a random earlier one."""
    return {(rng.randrange(i), i) for i in range(1, 60)}


GRAPHS = {"tree": tree, "layers": layers, "circles": circles}


def measured(rules: Sequence[Rule], edges: set[tuple[int, int]], rng: random.Random) -> dict[str, list[int]]:
    """The entries of each epoch: edges go, one by one, and come back."""
    facts = frozenset(("e", edge) for edge in edges)
    old, found = bootstrap(rules, facts), defaultdict[str, list[int]](list)
    for fact in rng.sample(sorted(facts), EDGES):
        for gone, come in ((frozenset({fact}), frozenset[Fact]()), (frozenset[Fact](), frozenset({fact}))):
            visited = epoch(rules, old, gone, come)
            for name in (*REDISCOVERY, *SCHEDULING):
                if gone or name in SCHEDULING:
                    found[name].append(visited[name])
            old = update(rules, old, gone, come)
    return found


def main() -> None:
    setattr(evaluation, "instantiations", indexed)  # noqa: B010
    rows: list[list[object]] = []
    for program, rules in PROGRAMS.items():
        for name, graph in GRAPHS.items():
            if program == "common" and name != "tree":  # 100,000 facts, too many for evaluation as printed
                continue
            found = measured(rules, graph(random.Random(1)), random.Random(2))
            shown = [f"{statistics.median(each):,.0f} {max(each):,}" for each in found.values()]
            rows.append([program, name, *shown])
            print(rows[-1], flush=True)
    header = ["program", "graph", *REDISCOVERY, *SCHEDULING]
    title = "searches of updates, with and without [ELA §4.2]"
    report("elastic-ablation", title, header, rows, NOTES.format(edges=EDGES))


if __name__ == "__main__":
    main()
