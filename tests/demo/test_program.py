"""The meaning of `program.dl`: catches a rule that derives too much or too little.

Small projects with the rows expected by hand; and on real packages, views against what graph searches over the
imports and Python's own classes say.
"""

import importlib
import inspect

import pytest

from tests.demo.small import library, replay_of, tree_of, view

PROJECT = {
    "shop/__init__.py": "from .models import Item as Product, make\nfrom .tools import *\n",
    "shop/models.py": """
        import shop.tools as t
        from shop.base import Base

        class Item(Base):
            def price(self): return self.tax() + t.rounded(1)
            def tax(self): return 2

        def make(): return Item()
        """,
    "shop/base.py": """
        class Base:
            def __init__(self): self.setup()
            def setup(self): pass
            def price(self): return self.tax()
            def tax(self): return 1
            def show(self): return self.price()
        """,
    "shop/tools.py": "__all__ = ['rounded']\ndef rounded(x): return x\ndef hidden(): pass\n",
    "shop/special.py": """
        import shop
        class Special(shop.Product):
            def setup(self): super().setup()
            def tax(self): return 3
        def orphan(): return left()
        def left(): return orphan()
        """,
    "main.py": """
        import shop
        from shop import special
        build = shop.make
        if __name__ == "__main__":
            build().show()
            shop.rounded(special.Special())
        """,
}


@pytest.fixture(scope="module")
def project():
    return replay_of(tree_of(PROJECT))


def selected(replay, name, first):
    """The rest of a view's rows that begin with `first`."""
    return {row[1:] if len(row) > 2 else row[1] for row in view(replay, name) if row[0] == first}


def test_imports_load_packages_and_resolve_submodules(project):
    assert selected(project, "imports", "main") == {("shop", "load"), ("shop.special", "load")}
    assert selected(project, "imports", "shop.models") == {("shop.tools", "load"), ("shop.base", "load")}
    assert selected(project, "imports", "shop") == {("shop.models", "load"), ("shop.tools", "load")}


def test_transitive_imports(project):
    assert selected(project, "loads", "main") == {"shop", "shop.models", "shop.tools", "shop.base", "shop.special"}
    assert selected(project, "loads", "shop.tools") == set()


def test_a_change_affects_all_that_import_it(project):
    assert selected(project, "affects", "shop.base") == {"shop.models", "shop", "shop.special", "main"}
    assert selected(project, "affects", "main") == set()


def test_names_are_found_through_re_exports_aliases_and_star_imports(project):
    assert selected(project, "binds", "shop") >= {("Product", "shop.models:Item"), ("rounded", "shop.tools:rounded")}
    assert ("hidden", "shop.tools:hidden") not in selected(project, "binds", "shop")
    assert ("build", "shop.models:make") in selected(project, "binds", "main")
    assert ("shop.Product", "shop.models:Item") in selected(project, "means", "shop.special")


def test_the_class_hierarchy_goes_through_imports(project):
    assert selected(project, "subclass", "shop.special:Special") == {"shop.models:Item", "shop.base:Base"}


def test_the_nearest_definition_hides_the_inherited_one(project):
    members = dict(selected(project, "member", "shop.special:Special"))
    assert members == {
        "__init__": "shop.base:Base.__init__",
        "show": "shop.base:Base.show",
        "price": "shop.models:Item.price",
        "tax": "shop.special:Special.tax",
        "setup": "shop.special:Special.setup",
    }


def test_calls_through_self_reach_overriding_methods(project):
    assert selected(project, "calls", "shop.base:Base.price") == {
        "shop.base:Base.tax",
        "shop.models:Item.tax",
        "shop.special:Special.tax",
    }


def test_calls_through_super_classes_aliases_and_modules(project):
    assert selected(project, "calls", "shop.special:Special.setup") == {"shop.base:Base.setup"}
    assert selected(project, "calls", "shop.models:make") == {"shop.base:Base.__init__"}
    assert "shop.tools:rounded" in selected(project, "calls", "shop.models:Item.price")
    assert {"shop.models:make", "shop.tools:rounded"} <= selected(project, "calls", "main")


def test_dead_functions_may_call_each_other(project):
    dead = {function for function, _ in view(project, "dead")}
    assert dead == {"shop.special:orphan", "shop.special:left", "shop.tools:hidden"}
    assert ("shop/special.py", 6, "shop.special:orphan") in view(project, "dead_at")


def test_entry_points_reach_what_they_call(project):
    assert "shop.special:Special.setup" in selected(project, "reaches", "main")
    assert {entry for entry, _ in view(project, "reaches")} == {"main"}


def test_import_cycles_are_those_of_loading():
    cyclic = {
        "a.py": "import b",
        "b.py": "import c",
        "c.py": "import a",
        "d.py": "def f():\n    import e",
        "e.py": "import d",
    }
    replay = replay_of(tree_of(cyclic))
    assert view(replay, "import_cycle") == {("a", "b"), ("a", "c"), ("b", "c")}
    assert view(replay, "in_cycle") == {("a",), ("b",), ("c",)}
    assert ("d", "e") in view(replay, "affects")
    assert ("e", "d") in view(replay, "affects")


def test_a_package_and_its_modules_are_no_cycle_unless_they_need_each_other():
    apart = {"p/__init__.py": "from . import a", "p/a.py": "from . import b", "p/b.py": "import p.a"}
    assert view(replay_of(tree_of(apart)), "import_cycle") == {("p.a", "p.b")}
    together = {"p/__init__.py": "from . import a\nx = 1", "p/a.py": "from p import x"}
    assert view(replay_of(tree_of(together)), "import_cycle") == {("p", "p.a")}


def test_a_method_lives_when_its_class_does_and_some_object_is_asked_for_its_name():
    text = """
        class Used:
            def asked(self): pass
            def unasked(self): pass
            def __len__(self): pass
        def uncalled():
            class Never:
                def asked(self): pass
        def main(x):
            Used
            x.asked()
        if __name__ == "__main__":
            main(1)
        """
    dead = {function for function, _ in view(replay_of(tree_of({"m.py": text})), "dead")}
    assert dead == {"m:Used.unasked", "m:uncalled", "m:uncalled.Never.asked"}


def test_importing_a_module_loads_the_packages_around_it_that_are_not_loading_already():
    files = {
        "p/__init__.py": "",
        "p/q/__init__.py": "",
        "p/q/a.py": "",
        "p/q/b.py": "import p.q.a",
        "m.py": "import p.q.a",
    }
    replay = replay_of(tree_of(files))
    assert view(replay, "inside") == {("p.q", "p"), ("p.q.a", "p.q"), ("p.q.a", "p"), ("p.q.b", "p.q"), ("p.q.b", "p")}
    assert selected(replay, "imports", "p.q.b") == {("p.q.a", "load")}
    assert selected(replay, "imports", "m") == {("p.q.a", "load"), ("p.q", "load"), ("p", "load")}


def test_a_star_import_takes_what_is_listed_or_else_what_is_public():
    files = {
        "listed.py": "__all__ = ['_a']\ndef _a(): pass\ndef b(): pass",
        "public.py": "def _c(): pass\ndef d(): pass",
    }
    replay = replay_of(tree_of(files | {"m.py": "from listed import *\nfrom public import *"}))
    assert selected(replay, "binds", "m") == {("_a", "listed:_a"), ("d", "public:d")}


def test_a_dotted_name_is_found_among_what_a_class_inherits():
    files = {"a.py": "class A:\n    def f(): pass\nclass B(A): pass", "m.py": "import a\na.B.f()"}
    assert selected(replay_of(tree_of(files)), "calls", "m") == {"a:A.f"}


def dead_in(text):
    return {function.partition(":")[2] for function, _ in view(replay_of(tree_of({"m.py": text})), "dead")}


@pytest.mark.parametrize(
    ("main", "dead"),
    [
        ("C\nx.f", {"C.g"}),
        ("C()\nx.f", {"C.g"}),
        ("C\ny = socket.f", {"C.g"}),
        ("C\nsocket.f()", {"C.g"}),
        ("x.f", {"C.f", "C.g"}),
        ("C.f", {"C.g"}),
        ("C.missing.f", {"C.g"}),
        ("class D(C): pass\nx.f", {"C.f", "C.g"}),
        ("class D(C): pass\nD\nx.f", {"C.g"}),
        ("class D: y = C\nx.f", {"C.g"}),
    ],
)
def test_a_method_lives_when_its_name_is_asked_for_and_its_class_is_used(main, dead):
    text = (
        "import socket\nclass C:\n    def f(self): pass\n    def g(self): pass\nif __name__ == '__main__':\n    x = 1\n"
    )
    assert dead_in(text + "".join(f"    {line}\n" for line in main.split("\n"))) == dead


def test_what_means_something_keeps_only_that_alive():
    text = """
        class A:
            def f(): pass
        class B:
            def f(): pass
        if __name__ == "__main__":
            x = A.f
            A.f()
            B
        """
    assert dead_in(text) == {"B.f"}


def test_a_function_lives_by_being_mentioned():
    assert dead_in("def f(): pass\ndef g(): pass\nif __name__ == '__main__':\n    x = [f]") == {"g"}


def test_a_class_lives_by_a_method_that_does():
    text = "class T:\n    def test_f(self, x): x.setup()\n    def setup(self): pass\n    def other(self): pass"
    assert view(replay_of(tree_of({"test_m.py": text})), "dead") == {("test_m:T.other", "test_m")}


def test_what_is_alive_loads_its_imports():
    files = {
        "a.py": "def f(): pass\nf()",
        "b.py": "import a\ndef g():\n    import c\n    return c",
        "c.py": "def h(): pass\nh()",
        "d.py": "def i(): pass\ni()",
        "test_b.py": "import b\ndef test_it(): pass",
    }
    assert view(replay_of(tree_of(files)), "dead") == {("b:g", "b"), ("d:i", "d")}


def test_a_broken_file_keeps_its_module_and_has_no_dead_functions():
    replay = replay_of(tree_of({"a.py": "import b", "b.py": "def f(:"}))
    assert view(replay, "imports") == {("a", "b", "load")}
    assert view(replay, "dead") == set()


REAL = ("json", "logging", "email", "http", "xml", "unittest")


@pytest.fixture(scope="module")
def real():
    return replay_of(library(*REAL))


def closure(edges, starts=None):
    """The pairs joined by a path of at least one edge, by one graph search from each node to start from."""
    successors = {}
    for source, target in edges:
        successors.setdefault(source, set()).add(target)
    pairs = set()
    for start in successors.keys() if starts is None else starts:
        seen, pending = set(), [start]
        while pending:
            found = successors.get(pending.pop(), set()) - seen
            seen |= found
            pending += found
        pairs |= {(start, target) for target in seen}
    return pairs


def column(replay, table, name):
    """The values of a column of a table."""
    return set(replay.tables.tables()[table][name].to_pylist())


def test_recursive_views_are_what_graph_searches_find(real):
    imports = view(real, "imports")
    loads = closure({(m, n) for m, n, when in imports if when == "load"})
    assert len(loads) > 500
    assert view(real, "loads") == loads
    assert view(real, "import_cycle") == {(m, n) for m, n in loads if (n, m) in loads and m < n}
    assert view(real, "affects") == closure({(n, m) for m, n, _ in imports})
    assert view(real, "subclass") == closure(view(real, "extends"))
    assert view(real, "reaches") == closure(view(real, "calls"), starts=column(real, "entry", "entity"))


def test_functions_are_either_alive_or_dead(real):
    functions = column(real, "function", "function")
    alive, dead = {e for (e,) in view(real, "alive")}, {f for f, _ in view(real, "dead")}
    assert dead == functions - alive
    assert dead
    assert functions & alive


def runtime_classes():
    """The classes that some real modules define, as Python has them once they run."""
    for name in ("json.decoder", "json.encoder", "logging", "logging.handlers", "email.message", "xml.dom.minidom"):
        module = importlib.import_module(name)
        for owner in vars(module).values():
            if inspect.isclass(owner) and owner.__module__ == name:
                yield owner


def key(thing):
    return f"{thing.__module__}:{thing.__qualname__}"


@pytest.fixture(scope="module")
def hierarchy(real):
    """For each class in the packages, its ancestors and its members."""
    ancestors = {c: set() for c in column(real, "class", "class")}
    members = {c: set() for c in ancestors}
    for c, ancestor in view(real, "subclass"):
        ancestors[c].add(ancestor)
    for c, name, entity in view(real, "member"):
        members[c].add((name, entity))
    return ancestors, members


@pytest.mark.parametrize("owner", list(runtime_classes()), ids=key)
def test_python_agrees_about_ancestors_and_methods(hierarchy, owner):
    ancestors, members = hierarchy
    assert ancestors[key(owner)] == {key(c) for c in owner.__mro__[1:]} & ancestors.keys()
    for name, function in inspect.getmembers(owner, inspect.isfunction):
        definer = key(function).removesuffix(f".{name}")
        if definer in members:  # other functions are made by calls or come from elsewhere
            assert (name, key(function)) in members[key(owner)]
