"""The programs in docs/datalog.md are accepted, and the page has every word of the language."""

import re
from pathlib import Path

import pytest

from deltic.datalog import check, lower, parse
from deltic.datalog.checks.directives import OPTIONS
from deltic.datalog.checks.functors import FUNCTORS
from deltic.datalog.souffle.words import HINTS

TEXT = (Path(__file__).parents[2] / "docs" / "datalog.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```datalog\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_are_accepted(number):
    assert lower(check([parse(PROGRAMS[number])])).nodes


def test_all_words_are_documented():
    for word in (*FUNCTORS, *OPTIONS, *HINTS):
        assert f"`{word}" in TEXT or f" {word} " in TEXT, word
