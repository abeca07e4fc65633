"""The module names of files: catches files that would overwrite each other's facts, and names Python would not use."""

from hypothesis import given
from hypothesis import strategies as st

from deltic.demo.tree import module_names

PARTS = st.sampled_from(["a", "b", "__init__", "setup", "x.y", "c:d"])
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: "/".join(parts) + ".py")


def test_packages_reach_up_as_far_as_there_are_init_files():
    files = ["src/pkg/__init__.py", "src/pkg/sub/__init__.py", "src/pkg/sub/leaf.py", "tools/run.py", "setup.py"]
    assert module_names(files) == {
        "src/pkg/__init__.py": "pkg",
        "src/pkg/sub/__init__.py": "pkg.sub",
        "src/pkg/sub/leaf.py": "pkg.sub.leaf",
        "tools/run.py": "run",
        "setup.py": "setup",
    }


def test_a_package_wins_over_a_module_and_a_short_path_over_a_long_one():
    files = ["a.py", "a/__init__.py", "deep/down/setup.py", "tools/setup.py"]
    assert module_names(files) == {
        "a/__init__.py": "a",
        "a.py": "a.py",
        "tools/setup.py": "setup",
        "deep/down/setup.py": "deep/down/setup.py",
    }


def test_an_init_file_at_the_root_belongs_to_no_package():
    assert module_names(["__init__.py", "a.py"]) == {"__init__.py": "__init__.py", "a.py": "a"}


@given(st.sets(PATHS))
def test_every_file_has_a_name_of_its_own_without_the_separator_of_keys(files):
    names = module_names(files)
    assert names.keys() == files
    assert len(set(names.values())) == len(files)
    assert all(":" not in name for path, name in names.items() if name != path)
