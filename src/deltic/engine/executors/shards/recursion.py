"""The three ways to compute a recursion on shards: each shard its own part, in rounds of exchanges, or on one shard.

A recursion *preserves a key* if each of its relations has a column whose value every rule passes on: reachability
has it in the source, points-to in the variable. Then rows of different keys never meet, and the other inputs of the
rules are spread by the key, or copied to every shard. A recursion that preserves no key runs a round of exchanges for
each iteration. What rounds do not support runs on one shard: functions of whole relations, and recursions that are
recomputed in every epoch. A ShardDefinition is what shards maintain, with the choices on which its ways depend.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, product

from deltic.circuit.graph import Circuit
from deltic.engine.executors.placed import RoundsChoice
from deltic.engine.executors.shards.needs import Lane, alike
from deltic.engine.options import EngineOptions, Options
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy
from deltic.program.frontiers import Frontiers, frontiers, remembered
from deltic.program.histories import RelationFunctionDefinition
from deltic.program.program import Program, Stratum
from deltic.program.queries import Atom, Query, Rule, When
from deltic.values.types import Kind

# The most combinations of one column for each relation that are tried.
_TRIED = 4096


@dataclass(frozen=True)
class MaintenanceChoice:
    """The options that decide the way of each recursion, and the copies.

    `rounds` says when a recursion that preserves no key uses rounds. With "auto" it runs on one shard until one of its
    relations has `outgrown` a task. Relations that are `copied` are on every shard, each for a reason.
    """

    options: Options = field(default_factory=lambda: Options(shards=0))
    """Those of all shards. Without other needs, rows with the same key are on one shard."""
    rounds: RoundsChoice = "always"
    outgrown: frozenset[str] = frozenset()
    copied: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecursionPlacement:
    """The way of a recursion: by the columns that are its `keys`, or `in_rounds`, or, with neither, on one shard."""

    keys: Mapping[str, int] | None
    in_rounds: bool
    why: str
    """The reason, for display."""
    is_chosen: bool = False
    """Whether the choice between rounds and one shard depends on the size."""


def way_of(program: Program, stratum: Stratum, maintained: MaintenanceChoice) -> RecursionPlacement:
    """Choose the way of a recursion."""
    if (keys := preserved_key(program, stratum.relations)) is not None:
        names = [f"{name}.{program.relations[name].schema.names[column]}" for name, column in keys.items()]
        return RecursionPlacement(keys, False, f"on each shard its share: all rules hand on {', '.join(names)}")
    if (reason := _refused(program, stratum, maintained)) is not None:
        return RecursionPlacement(None, False, f"on one shard: no key is handed on by all rules, and {reason}")
    if maintained.rounds == "always":
        return RecursionPlacement(
            None, True, f"in rounds of exchanges: no key is handed on by all rules{_kept(stratum, maintained)}"
        )
    if maintained.outgrown.isdisjoint(stratum.relations):
        return RecursionPlacement(
            None, False, "on one shard: no key is handed on by all rules, and a task has room for it", True
        )
    why = "in rounds of exchanges: no key is handed on by all rules, and no task has room for it"
    return RecursionPlacement(None, True, f"{why}{_kept(stratum, maintained)}", True)


def _kept(stratum: Stratum, maintained: MaintenanceChoice) -> str:
    """Explain that rounds do not use the strategy `elastic`; "" for other strategies."""
    is_elastic = maintained.options.strategies.of(stratum.relations) is Strategy.ELASTIC and not stratum.signed
    return "; rounds keep the derivations at all iterations, as the strategy nested does" if is_elastic else ""


def _refused(program: Program, stratum: Stratum, maintained: MaintenanceChoice) -> str | None:
    """Return why a recursion cannot run in rounds, which store all iterations; None if it can."""
    definitions = [program.relations[name].definition for name in stratum.relations]
    if (
        whole := next((each for each in definitions if isinstance(each, RelationFunctionDefinition)), None)
    ) is not None:
        return f"all of {', '.join(whole.inputs)} is one function's: {whole.called}"
    if maintained.options.strategies.of(stratum.relations) is Strategy.FULL:
        return "its strategy is full"
    if maintained.options.refresh.of(stratum).policy is Policy.FULL:
        return "each epoch computes it anew"
    if maintained.rounds == "auto" and (memory := remembered(program)):
        return f"its way cannot change, since {memory}"
    return 'rounds are never to be taken: rounds="never"' if maintained.rounds == "never" else None


def in_rounds(query: Query, relations: Collection[str]) -> Query:
    """Return a delta query of a recursion in rounds, with each atom read in the state that a round sees.

    When a recursive relation changes, the relations below have changed before; when those change, no recursive one has
    yet.
    """
    inner = query.delta.relation in relations

    def read(atom: Atom) -> Atom:
        if atom.when is When.DELTA or (atom.relation in relations) == inner:
            return atom
        return replace(atom, when=When.NEW if inner else When.OLD)

    body = query.body
    result = replace(body, atoms=tuple(map(read, body.atoms)), absent=tuple(map(read, body.absent)))
    return replace(query, body=result)


def preserved_key(program: Program, relations: Sequence[str]) -> Mapping[str, int] | None:
    """Return a column of each relation that its rules preserve; None if there are none."""
    if any(isinstance(program.relations[name].definition, RelationFunctionDefinition) for name in relations):
        return None
    rules = [rule for name in relations for rule in program.rules_of(name)]
    for choice in islice(product(*_hashed(program, relations)), _TRIED):
        keys = {name: column for lane in choice for name, column in lane.items()}
        if all(_preserves(rule, keys) for rule in rules):
            return keys
    return None


def _hashed(program: Program, relations: Sequence[str]) -> Iterator[list[Lane]]:
    """Yield the candidate columns for each set of relations that must be spread alike. Maps cannot be hashed."""
    for _, lanes in alike(program, relations):
        types = [[program.relations[name].schema.columns[c].type for name, c in lane.items()] for lane in lanes]
        yield [lane for lane, of in zip(lanes, types, strict=True) if all(t.kind is not Kind.MAP for t in of)]


def _preserves(rule: Rule, keys: Mapping[str, int]) -> bool:
    """Return whether the head has the key of every recursive atom, and some atom contains it."""
    variable = rule.terms[keys[rule.head]]
    if not isinstance(variable, int):
        return False
    recursive = [atom for atom in rule.body.atoms if atom.relation in keys]
    if any(atom.terms[keys[atom.relation]] != variable for atom in recursive):
        return False
    return any(variable in atom.variables() for atom in rule.body.atoms)


def reads_by_key(rule: Rule, keys: Mapping[str, int]) -> Iterator[tuple[Atom, tuple[int, ...] | None]]:
    """Yield the non-recursive atoms of a rule, each with the column by which it is spread, None for a copy."""
    variable = rule.terms[keys[rule.head]]
    for atom in (*rule.body.atoms, *rule.body.absent):
        if atom.relation not in keys:
            yield atom, (atom.terms.index(variable),) if variable in atom.variables() else None


def reads_of(
    program: Program, stratum: Stratum, way: RecursionPlacement
) -> Iterator[tuple[Rule, Atom, tuple[int, ...] | None]]:
    """Yield the non-recursive atoms of a recursion's rules, each with its key, None for a copy."""
    for name in stratum.relations:
        for rule in program.rules_of(name):
            if way.keys:
                yield from ((rule, atom, key) for atom, key in reads_by_key(rule, way.keys))
            else:
                others = (*rule.body.atoms, *rule.body.absent)
                yield from ((rule, a, ()) for a in others if a.relation not in stratum.relations)


@dataclass(frozen=True, kw_only=True)
class ShardDefinition(MaintenanceChoice):
    """A circuit, its program, and how shards maintain it, which comes from the engine's options `given`."""

    circuit: Circuit
    program: Program
    given: EngineOptions

    @classmethod
    def of(cls, circuit: Circuit, given: EngineOptions) -> ShardDefinition:
        """Return the definition of a circuit. UnsupportedError if it has no derivative."""
        program = given.compiled(circuit)
        options = Options.of(circuit, program, given)
        return cls(options, given.rounds, circuit=circuit, program=program, given=given)

    @cached_property
    def frontiers(self) -> Frontiers:
        """The frontiers of the program's relations."""
        return frontiers(self.program)
