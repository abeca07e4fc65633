"""Values of DDlog against Python's own lists, sets and dictionaries: wrong orders, lost or doubled elements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deltic.datalog.ddlog.values import NONE, Constructor, Map, Set, Struct, Vec, some

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
    one, expected = Map.of(left), dict(left)
    assert dict(one) == expected
    assert [k for k, _ in one] == sorted(expected)
    assert one.get(key) == expected.get(key)
    assert (key in one) == (key in expected)
    assert dict(one.insert(key, value)) == {**expected, key: value}
    assert dict(one.remove(key)) == {k: v for k, v in expected.items() if k != key}
    assert dict(one.union(Map.of(right))) == {**expected, **dict(right)}


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
