"""What an edit changes in the facts: catches a difference that is not the one between two full extractions."""

from deltic.demo.extract import Fact
from deltic.demo.scenario import standard_library_edits
from deltic.demo.subject import python_files, stdlib_root
from deltic.demo.tree import Edit, Tree
from tests.demo.small import raw_facts, tree_of


def all_facts(tree: Tree) -> set[Fact]:
    sources = [tree.source(path) for path in tree.modules]
    return set().union(*(raw_facts(s.text, s.file, s.module) for s in sources))


def check(tree: Tree, edit: Edit) -> None:
    """Applies the edit; its change must lead from the facts of all files before to those after."""
    before = all_facts(tree)
    change = tree.apply(edit)
    assert change.deleted <= before
    assert not change.inserted & before
    assert (before - change.deleted) | change.inserted == all_facts(tree)


def test_files_that_change_come_and_go():
    tree = tree_of({"p/__init__.py": "import p.a", "p/a.py": "def f(): pass"})
    check(tree, Edit("change", {"p/a.py": b"def g(): pass"}))
    check(tree, Edit("come", {"p/b.py": b"from .a import g", "p/c.py": b"1 +"}))
    check(tree, Edit("go", {"p/a.py": None, "p/b.py": b"x = 1"}))
    assert tree.path_of("p.a") is None
    assert tree.path_of("p.b") == "p/b.py"


def test_a_new_package_renames_the_modules_in_it():
    tree = tree_of({"p/a.py": "def f(): pass", "b.py": "import a"})
    edit = Edit("make a package", {"p/__init__.py": b""})
    check(tree, edit)
    assert tree.modules["p/a.py"] == "p.a"
    check(tree, Edit("unmake it", {"p/__init__.py": None}))
    assert tree.modules["p/a.py"] == "a"


def test_removing_a_file_gives_its_name_to_the_next_of_that_name():
    tree = tree_of({"a.py": "x = y.z", "deep/a.py": "import b"})
    assert tree.modules["deep/a.py"] == "deep/a.py"
    check(tree, Edit("remove", {"a.py": None}))
    assert tree.modules["deep/a.py"] == "a"


def test_an_edit_of_nothing_changes_nothing():
    change = tree_of({"a.py": "x = 1"}).apply(Edit("nothing", {}))
    assert not change.deleted | change.inserted


def test_the_scenario_has_the_pattern_of_ela_5_2_and_changes_the_facts_in_every_step():
    root = stdlib_root()
    tree = Tree({file: root / file for file in python_files(root)})
    modules = dict(tree.modules)
    sizes = []
    for edit in standard_library_edits(tree):
        change = tree.apply(edit)
        assert change.deleted | change.inserted, edit.words
        sizes.append(len(edit.files))
    assert [size > 1 for size in sizes] == [False] * 6 + [True] + [False] * 4 + [True]
    assert tree.modules == modules
