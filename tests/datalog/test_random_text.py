"""Any text of Datalog is a program that runs, or a DelticError, and errors of texts have places.

Catches exceptions of the parser, of Arrow and of Python that come through, and programs half taken over.

Run 10,000 texts with ``python -m tests.datalog.test_random_text 0 10000``; with ``--show`` it prints the errors that
users read.
"""

from __future__ import annotations

import random
import sys
import warnings

import pytest

import deltic
from tests.datalog.constructs import random_program
from tests.random_texts import broken, fault_of, limited

_WORDS = """
.decl .input .output .comp .init .type .functor :- . , ; ! ( ) [ ] { } < > <= = != + - * / % ^ : :: _ $ @ # " ' | ->
number symbol unsigned float nil min max sum count range cat strlen ord to_number substr as true false choice-domain
inline magic 0 1 -1 9999999999 4294967296 1.5 1e400 0x1F 0b1 1u "a" "" "\\" x y e band bnot autoinc() $Branch // /*
"""
WORDS = _WORDS.split()
NESTS = [("(", ")"), ("-", ""), ("cat(", ', "a")'), ("!", ""), ("[", ", nil]"), ("min x : {", "}"), ("x + ", "")]


def text_of(rng: random.Random, seed: int) -> str:
    """A program; two in three are broken, and some have a deep nest."""
    text = str(random_program(seed, rng.randint(1, 3)))
    if rng.random() < 0.1:
        (head, tail), levels, at = rng.choice(NESTS), rng.choice([3, 30, 300]), text.rfind("(") + 1
        text = f"{text[:at]}{head * levels}x{tail * levels}, {text[at:]}"
    for _ in range(rng.choice([0, 1, 1, 1, 2, 5])):
        text = broken(rng, text, WORDS)
    return text


def fault_at(seed: int, show: bool = False) -> str:
    """What is wrong with what the program of a seed gives."""
    rng = random.Random(seed)
    text = text_of(rng, seed)
    with warnings.catch_warnings(), deltic.Pipeline() as pipeline:
        warnings.simplefilter("ignore")
        try:
            with limited():
                pipeline.datalog(text)
                for name in pipeline.views:
                    pipeline[name].to_arrow()
        except Exception as error:  # noqa: BLE001  any is looked at
            if fault := fault_of(error):
                return f"seed {seed}: {text}\n{fault}"
            if show:
                sys.stdout.write(f"{error}\n\n")
    return ""


def check_seeds(seeds: range) -> None:
    """Fail with all that is wrong."""
    if found := [fault for seed in seeds if (fault := fault_at(seed))]:
        pytest.fail("\n\n".join(found[:5]), pytrace=False)


def test_random_text(record_property):
    record_property("random texts of Datalog", 60)
    check_seeds(range(60))


@pytest.mark.slow
def test_many_random_texts(record_property):
    record_property("random texts of Datalog", 800)
    check_seeds(range(10_000, 10_800))


if __name__ == "__main__":
    shown = "--show" in sys.argv
    first, last = map(int, [argument for argument in sys.argv[1:] if argument != "--show"])
    for number in range(first, last):
        if fault := fault_at(number, shown):
            sys.stdout.write(f"{fault}\n\n")
            sys.stdout.flush()
