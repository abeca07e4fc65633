"""Replaying edits: catches an update of the views, or a fact of an edit, that recomputation would not confirm."""

import random

from deltic.demo.insights import first_insights
from deltic.demo.scenario import add_import, remove_function
from deltic.demo.tree import Edit, Tree
from deltic.demo.verify import differences
from deltic.pipeline.epochs.report import RowCounts
from tests.demo.small import facts_table, library, replay_of, tree_of, view


def check(replay):
    """All views equal their recomputation, and the tables equal those of a new reading of all files."""
    fresh, _ = replay.recompute()
    assert differences(replay.pipeline, fresh, every_row=True) == []
    reread = replay_of(Tree({path: replay.tree.source(path).text for path in replay.tree.modules}))
    assert differences(replay.pipeline, reread.pipeline, every_row=True) == []


def test_random_edits_of_a_real_package():
    tree = library("json", "importlib")
    replay = replay_of(tree)
    original = {path: tree.source(path).text for path in tree.modules}
    choose = random.Random(3)
    for number in range(1, 4):
        files = {path: edited(original[path], choose) for path in choose.sample(sorted(original), 3)}
        replay.apply(number, Edit("some files", files))
        check(replay)


def edited(text, choose):
    """A file that is gone, or back, broken, without some lines, or with an import more."""
    match choose.randrange(4):
        case 0:
            return None
        case 1:
            return text
        case 2:
            lines = text.splitlines(keepends=True)
            return b"".join(line for line in lines if choose.random() > 0.02)
        case _:
            return add_import(text, choose.choice(["json", "logging.config", "importlib.util"]))


def test_an_epoch_tells_what_changed():
    files = {"a.py": "def f(): return g()\ndef g(): pass\nif __name__ == '__main__':\n    f()\n", "b.py": "import a\n"}
    replay = replay_of(tree_of(files))
    epoch = replay.apply(1, Edit("remove f", {"a.py": remove_function(files["a.py"].encode(), "f")}))
    assert epoch.words == "remove f"
    assert (epoch.number, epoch.files) == (1, 1)
    assert epoch.views["reaches"] == RowCounts(inserted=0, deleted=2)
    assert epoch.views["dead"] == RowCounts(inserted=1, deleted=0)
    assert "affects" not in epoch.views
    assert epoch.rows_in.deleted > epoch.rows_in.inserted > 0
    assert epoch.insights == (
        "nothing reaches any more: a:g",
        'a:g is dead because there is no row of uses with at = "a", path = "g"',
        "one test or program could reach what was removed",
        'a does not reach a:f because there is no row of calls with caller = "a", callee = "a:f"',
    )


def test_an_edit_without_python_files_is_an_epoch_without_changes():
    replay = replay_of(tree_of({"a.py": "x = 1\n"}))
    epoch = replay.apply(1, Edit("documentation", {}))
    assert epoch.view_rows == epoch.rows_in == RowCounts(0, 0)
    assert epoch.insights == ()


def test_a_tree_may_begin_and_end_empty():
    replay = replay_of(Tree({}))
    replay.apply(1, Edit("come", {"a.py": b"def f(): f()\n"}))
    assert view(replay, "dead") == {("a:f", "a")}
    replay.apply(2, Edit("go", {"a.py": None}))
    assert sum(len(replay.pipeline[name]) for name in replay.pipeline.views) == 0
    assert facts_table(replay.tree).num_rows == 0


def test_insights_tell_of_cycles_and_of_what_a_change_affects():
    files = {f"m{n}.py": f"import m{n + 1}\n" for n in range(4)} | {"m4.py": "x = 1\n", "user.py": "import m0\n"}
    replay = replay_of(tree_of(files))
    closed = replay.apply(1, Edit("close", {"m4.py": b"import m2\n"}))
    assert closed.insights == (
        "an import cycle appears: m2 → m3 → m4 → m2 (3 modules in it)",
        "m2 and m3 are in a cycle because of imports_module(m4, m2, load)",
        "a change to m2 can now affect 6 modules (before: 3)",
        "a change to m2 can affect m3 because of imports_module(m4, m2, load)",
    )
    wider = replay.apply(2, Edit("widen", {"m3.py": b"import m4, m0\n"}))
    assert wider.insights == (
        "an import cycle appears: m0 → m1 → m2 → m3 → m0 (5 modules in it)",
        "m0 and m1 are in a cycle because of imports_module(m3, m0, load)",
        "a change to m0 can now affect 6 modules (before: 1)",
        "a change to m0 can affect m1 because of imports_module(m3, m0, load)",
    )
    opened = replay.apply(3, Edit("open", {"m3.py": b"import m4\n"}))
    assert opened.insights == (
        "an import cycle is gone: m0 → m1 → m2 → m3 → m0 (5 modules in it)",
        'm0 and m1 are in no cycle because there is no row of loads with module = "m1", loaded = "m0"',
        "a change to m0 can now affect one module (before: 6)",
        'a change to m0 cannot affect m1 because there is no row of affects with changed = "m0", module = "m2"',
    )


def test_first_insights_name_the_extremes():
    text = "import b\ndef test_f(): b.g()\ndef test_h(): b.g()\n"
    replay = replay_of(tree_of({"test_a.py": text, "b.py": "def g(): pass\ndef lost(): pass\n"}))
    assert first_insights(replay.pipeline) == (
        "functions that nothing reaches: 1; modules in import cycles: 0",
        'b:lost is dead because there is no row of uses with at = "b", path = "lost"',
        "a change to b can affect one module, more than any other",
        "a change to b can affect test_a because of imports_module(test_a, b, load), module(b, b.py)",
        "b:g is reached by 2 tests and programs, more than any other function",
        "test_a:test_f reaches b:g because of binds_module(test_a, b, b), calls_name(test_a:test_f, test_a, b.g), "
        "defines(b, g, b:g) and 4 more",
    )


def test_what_is_reached_again_is_explained():
    files = {"a.py": "def f(): pass\ndef g(): pass\nif __name__ == '__main__':\n    f()\n"}
    replay = replay_of(tree_of(files))
    epoch = replay.apply(
        1, Edit("call g", {"a.py": b"def f(): g()\ndef g(): pass\nif __name__ == '__main__':\n    f()\n"})
    )
    assert epoch.insights[:2] == ("reached again: a:g", "a:g is alive because of calls_name(a:f, a, g)")
