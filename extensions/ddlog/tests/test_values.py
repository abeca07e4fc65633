"""Values of DDlog against Python's own lists, sets and dictionaries: wrong orders, lost or doubled elements.

Their texts, their hashes and the order of interned ones are those that Rust gives of the same values.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic_ddlog import types as t
from deltic_ddlog.checked import TypeDefinition
from deltic_ddlog.order import Hashes, TypeOrder
from deltic_ddlog.runtime import show_float, show_string, unquoted
from deltic_ddlog.values import NONE, Constructor, MapValue, Set, Struct, Vec, some

keys = st.integers(0, 6)


@given(st.lists(keys), st.lists(keys), keys)
def test_sets_are_pythons_sets_in_order(left: list[int], right: list[int], element: int) -> None:
    one, other = Set.of(left), Set.of(right)
    assert list(one) == sorted(set(left))
    assert (element in one) == (element in left)
    assert one.insert(element) == Set.of([*left, element])
    assert set(one.union(other)) == {*left, *right}
    assert list(one.intersection(other)) == sorted({*left} & {*right})
    assert list(one.difference(other)) == sorted({*left} - {*right})


@given(st.lists(st.tuples(keys, keys)), st.lists(st.tuples(keys, keys)), keys, keys)
def test_maps_are_dictionaries_in_the_order_of_keys(
    left: list[tuple[int, int]], right: list[tuple[int, int]], key: int, value: int
) -> None:
    one, expected = MapValue.of(left), dict(left)
    assert dict(one) == expected
    assert [k for k, _ in one] == sorted(expected)
    assert one.get(key) == expected.get(key)
    assert (key in one) == (key in expected)
    assert dict(one.insert(key, value)) == {**expected, key: value}
    assert dict(one.remove(key)) == {k: v for k, v in expected.items() if k != key}
    assert dict(one.union(MapValue.of(right))) == {**expected, **dict(right)}


def test_structures_order_by_constructor_and_then_by_fields() -> None:
    assert NONE < some(0) < some(1)
    assert some(1) == some(1)
    assert hash(some(1)) == hash(some(1))
    assert some(1) != NONE
    two = Constructor("Two", ("first", "second"), 0)
    assert two("a", 2) < two("a", 3) < two("b", 0)
    assert two("a", 2).field("second") == 2
    assert two("a", 2).with_field("first", "b") == two("b", 2)
    assert repr(Struct(two, ("a", Vec((1, 2))))) == "Two{.first = 'a', .second = [1, 2]}"


def test_vectors_order_by_their_elements() -> None:
    assert Vec((1, 2)) < Vec((1, 2, 0)) < Vec((1, 3))
    assert Vec((1,)).push(2) == Vec((1, 2))
    assert Vec((1, 2)).with_nth(0, 5) == Vec((5, 2))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("isn't", '"isn\'t"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\t\n\r\0", r'"\t\n\r\0"'),
        ("\a\x7f\u200b\xa0e\u0301", r'"\u{7}\u{7f}\u{200b}\u{a0}e\u{301}"'),
        ("Zürich 🙂", '"Zürich 🙂"'),
    ],
)
def test_strings_are_shown_as_rust_shows_them(text: str, shown: str) -> None:
    assert show_string(text) == shown


@given(st.text())
def test_strings_are_read_as_they_were_shown(text: str) -> None:
    assert unquoted(show_string(text)) == text


@pytest.mark.parametrize(
    ("value", "is_single", "shown"),
    [
        (1.0, False, "1"),
        (-0.0, False, "-0"),
        (0.1, False, "0.1"),
        (1e21, False, "1" + "0" * 21),
        (1e-7, False, "0.0000001"),
        (0.10000000149011612, True, "0.1"),
        (16777216.0, True, "16777216"),
        (float("inf"), True, "inf"),
        (float("-inf"), False, "-inf"),
        (float("nan"), False, "NaN"),
    ],
)
def test_floats_are_shown_as_rust_shows_them(value: float, is_single: bool, shown: str) -> None:
    assert show_float(value, is_single) == shown


_ONE, _TWO = Constructor("One", ("a", "b"), 0), Constructor("Two", (), 1)
_TYPES = {
    "Both": TypeDefinition("Both", (), ((_ONE, (t.Bit(8), t.STRING)), (_TWO, ()))),
    **{name: TypeDefinition(name, ("A",), ()) for name in ("ddlog_std::Vec", "ddlog_std::Set", "internment::Intern")},
    "ddlog_std::Map": TypeDefinition("ddlog_std::Map", ("A", "B"), ()),
}
_ISTRING = t.Named("internment::Intern", (t.STRING,))


@pytest.mark.parametrize(
    ("type_", "value", "said"),
    [
        (t.Named("Both"), _ONE(1, "x"), "00000000000000000178ff"),
        (t.Named("Both"), _TWO(), "0100000000000000"),
        (t.Tuple((t.BOOL, t.Signed(20))), (True, -1), "01ffffffff"),
        (t.Named("ddlog_std::Vec", (t.Bit(9),)), Vec((1, 2)), "020000000000000001000200"),
        (t.Named("ddlog_std::Map", (t.Bit(8), t.STRING)), MapValue.of([(1, "a")]), "01000000000000000161ff"),
        (t.Bit(128), 5, "05" + "00" * 15),
        (t.Bit(200), 0, "00" * 8),
        (t.Bit(200), 1 << 64, "02" + "00" * 15 + "01" + "00" * 7),
        (t.BigInt(), 0, "01" + "00" * 7),
        (t.BigInt(), -5, "00" * 8 + "01" + "00" * 7 + "05" + "00" * 7),
        (t.BigInt(), 5, "02" + "00" * 7 + "01" + "00" * 7 + "05" + "00" * 7),
        (_ISTRING, "milk", "7d0b38088e25b385"),
    ],
)
def test_hashes_are_made_of_the_bytes_that_rust_gives(type_: t.DdlogType, value: object, said: str) -> None:
    assert Hashes(_TYPES).of(type_)(value).hex() == said


def test_interned_values_are_ordered_by_their_hashes() -> None:
    order, words = TypeOrder(_TYPES), ["eggs", "jackfruit", "milk", "sursild"]
    assert sorted(words, key=order.key(_ISTRING)) == ["jackfruit", "milk", "sursild", "eggs"]
    pairs = t.Tuple((t.Named("ddlog_std::Set", (_ISTRING,)), t.Bit(8)))
    assert order.key(pairs)((Set.of(words), 1)) == (sorted(map(order.key(_ISTRING), words)), 1)
    assert sorted(words, key=order.key(t.STRING)) == words
