"""Soufflé's regular expressions: what C++ makes of them, RE2 and Python alike. Catches what either reads otherwise."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltic.circuit.expressions import column
from deltic.datalog.souffle.functions.ecmascript import PatternError, pattern_of
from deltic.engine.operators import scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.storage.codec import encode
from deltic.engine.storage.interner import Interner
from deltic.functions import FUNCTIONS, call
from deltic.values.types import Type

# A pattern, a text that it matches, and one that it does not.
MEANT = [
    ("a.c", "abc", "a\nc"),
    ("a.c", "aéc", "a\rc"),
    ("", "", "a"),
    ("a|", "", "b"),
    ("(a|b)*c", "abac", "abad"),
    ("(?:ab){2}", "abab", "ab"),
    ("a{2,}", "aaaa", "a"),
    ("a{1,2}b", "aab", "aaab"),
    ("a{2}{3}", "aaaaaa", "aaaaa"),
    ("a**", "aaa", "b"),
    ("a*?b", "aab", "aa"),
    ("a{1001}", "a" * 1001, "a" * 1000),
    ("^a$", "a", "^a$"),
    ("(^a|b)+", "ab", "ba"),
    (r"\d\D\w\W\s\S", "1a_- x", "a1_- x"),
    (r"a\b-\Bb?-", "a--", "a-b-"),
    (r"\B", "", "a"),
    (r"\t\x41\u00e9\cA\0", "\tAé\x01\0", "tAé\x01\0"),
    (r"\Q\z\.\{", "Qz.{", "Qza{"),
    ("]}", "]}", "]"),
    ("[a-c-e]", "-", "d"),
    ("[-a]", "-", "b"),
    ("[+--]", ",", "*"),
    (r"[\w-]", "-", "+"),
    (r"[\b\]]", "\b", "b"),
    ("[^a-c]", "d", "b"),
    (r"[\D]", "a", "1"),
    ("[[:alpha:][:d:]]", "7", "-"),
    ("[[.a.][=b=]]", "b", "="),
    ("[^]", "\n", ""),
    ("a[]|b", "b", "a"),
    (r"(.)(.)\2\1", "abba", "abab"),
    (r"(a)|\1b", "a", "b"),
    ("(?=.*b)a.*", "acb", "acc"),
    ("(?!.*b)a.*", "acc", "acb"),
    (r"(\w+) \1[0-9]", "ab ab1", "ab a1"),
]
NONE = [
    *("*a", "a|*", "(a", "a)", "(?i)a", "(?<a)", "(?P<n>a)", "(?=a)*", "^*", r"\b+"),
    *("a{x}", "{2}", "a{,2}", "a{2", "a{2,1}", "a\\", r"\1", r"(\1)", r"\x4", r"\u12", r"\c"),
    *("[a", "[b-a]", r"[\w-a]", r"[a-\w]", "[[:foo:]]", "[[:alpha]", r"[\1]", r"[\B]"),
    "(" * 5000,
]


@pytest.mark.parametrize(("pattern", "text", "other"), MEANT)
def test_a_pattern_matches_whole_texts(pattern, text, other):
    match = FUNCTIONS["match"]
    assert match.python is not None
    assert match.columns is not None
    assert [match.python(pattern, each) for each in (text, other)] == [True, False]
    by_columns = match.columns([pa.array([pattern] * 40), pa.array([text, other] * 20)], 40)
    if any(sign in pattern for sign in (r"\1", "(?=", "(?!", "1001")):
        assert by_columns is None
    else:
        assert by_columns.to_pylist() == [True, False] * 20


@pytest.mark.parametrize("pattern", NONE, ids=range(len(NONE)))
def test_what_is_no_pattern_matches_nothing(pattern):
    match = FUNCTIONS["match"]
    assert match.python is not None
    assert match.columns is not None
    with pytest.raises(PatternError):
        pattern_of(pattern)
    assert match.python(pattern, "a") is None
    assert match.columns([pa.array([pattern] * 40), pa.array(["a"] * 40)], 40) is None


def test_several_patterns_are_matched_one_by_one():
    match = FUNCTIONS["match"]
    assert match.columns is not None
    assert match.columns([pa.array(["a", "b"] * 20), pa.array(["a"] * 40)], 40) is None


@pytest.mark.parametrize("seed", range(4))
def test_python_and_re2_agree(seed):
    rng = random.Random(seed)
    signs = [*"ab1-_ .|*+?()[]^$é", "(?:", "[^", "[a-", *(f"\\{letter}" for letter in "wWsbBD")]
    signs += ["{2}", "{0,1}", "[[:punct:]]"]
    read = 0
    for _ in range(600):
        text = "".join(rng.choices(signs, k=rng.randint(1, 7)))
        try:
            pattern = pattern_of(text)
        except PatternError:
            continue
        assert pattern.re2 is not None, text
        read += 1
        texts = ["".join(rng.choices("aab1-_ é\n", k=rng.randint(0, 6))) for _ in range(20)]
        found = [pattern.python.fullmatch(each) is not None for each in texts]
        assert pc.match_substring_regex(pa.array(texts), pattern.re2).to_pylist() == found, (text, texts)
    assert read > 100


def test_a_bad_pattern_from_data_is_undefined():
    """A regular expression is checked when it is a literal; one that comes from a row may be wrong."""
    interner = Interner()
    values = {n: encode(pa.array(v), Type.STRING, interner) for n, v in {"t": ["ab", "ab"], "p": ["a.", "("]}.items()}
    columns = Columns(values, {"t": Type.STRING, "p": Type.STRING}, 2, interner)
    match = call("match", column("p"), column("t"))
    assert scalar.keep((match,), columns).tolist() == [True, False]
    _, nulls = scalar.evaluate(match, columns)
    assert nulls is not None
    assert nulls.tolist() == [False, True]
