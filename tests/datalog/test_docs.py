"""The programs in docs/datalog.md are accepted, and its example of errors is what a reader will see."""

import re
from pathlib import Path

import pytest

from deltic.datalog import check, lower, parse
from deltic.datalog.checks.directives import OPTIONS
from deltic.datalog.checks.functors import FUNCTORS
from deltic.datalog.souffle.words import HINTS
from deltic.errors import ProgramError

TEXT = (Path(__file__).parents[2] / "docs" / "datalog.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)( error)?\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PROGRAMS = [text for kind, error, text in BLOCKS if kind == "datalog" and not error]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_are_accepted(number):
    assert lower(check([parse(PROGRAMS[number])])).nodes


def test_errors_are_as_shown():
    programs = [text for _, error, text in BLOCKS if error]
    for program, shown in zip(programs, (text for kind, _, text in BLOCKS if kind == "text"), strict=True):
        with pytest.raises(ProgramError) as caught:
            check([parse(program, "program.dl")])
        assert str(caught.value) == shown.rstrip("\n")


def test_all_words_are_documented():
    for word in (*FUNCTORS, *OPTIONS, *HINTS):
        assert f"`{word}" in TEXT or f" {word} " in TEXT, word
