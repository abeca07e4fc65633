"""Programs that come and go one by one, checked and lowered with a memory, against all of them from nothing.

Catches what is remembered of a clause or a stratum although what it depends on is another (a relation that it reads has
other attributes, is a table now, or is hidden; types; settings), and a memory that nothing is taken from.
"""

import random
from collections import Counter

import pytest

from deltic.datalog import check, define
from deltic.errors import CatalogError, ProgramError
from deltic.pipeline.definitions.definitions import Definitions
from tests.differential.random_programs import random_program


def edits(rng, program):
    """Texts of a random program's parts, in an order, and what is done with each: more may be wrong than right."""
    yield "add", "\n".join(map(str, program.relations))
    rules = rng.sample(program.rules, len(program.rules))
    while rules:
        yield "add", "\n".join(map(str, rules[-2:]))
        del rules[-2:]
        relation = rng.choice(program.relations)
        own = [rule for rule in program.rules if {head.relation for head in rule.heads} == {relation.name}]
        declared = str(relation).replace("a0", rng.choice(("a0", "first")))
        if rng.random() < 0.3:
            declared += f'\n.pragma "hidden" "{relation.name}"'
        yield "replace", "\n".join([declared, *map(str, rng.sample(own, rng.randint(0, len(own))))])
        if rng.random() < 0.2:
            yield (
                "add",
                rng.choice((f".type some{len(rules)} <: number", '.pragma "word-size" "32"', "nowhere(x) :- x.")),
            )
        if rng.random() < 0.3:
            yield "add", f".input {rng.choice(program.relations).name}"
        if rng.random() < 0.1:
            yield "drop", rng.choice(program.relations).name


def done(now, kind, text):
    """The definitions after an edit, where it can be made."""
    try:
        if kind == "drop":
            return now.dropping([text])
        return now.adding(text, "<text>") if kind == "add" else now.replacing(text, "<text>")
    except (ProgramError, CatalogError):
        return now


def made(definitions, memory):
    """What is checked and defined, or all findings."""
    try:
        checked = check(definitions.programs, memory=memory)
    except ProgramError as error:
        return str(error), None
    return checked, define(checked, memory)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_is_what_would_be_made(seed):
    rng, taken = random.Random(seed), Counter()
    for _ in range(6):
        now = Definitions()
        before = made(now, now.memory)
        for kind, text in edits(rng, random_program(rng)):
            wanted = done(now, kind, text)
            found = made(wanted, now.memory)
            assert found == made(wanted, None), text
            if found[1] is not None:
                taken["rules"] += len({*map(id, before[0].rules)} & {*map(id, found[0].rules)})
                taken["definitions"] += len({*map(id, before[1].definitions)} & {*map(id, found[1].definitions)})
                now, before = wanted, found
    assert min(taken["rules"], taken["definitions"]) > 20, taken
