"""Every condition of `program.dl`: catches a rule that loses one, or joins on the wrong column.

The views are compared whole. Most trees hold the same text twice, as `a` and as `b`: what a rule mixes up between the
two is a row too many.
"""

import pytest

from tests.demo.small import replay_of, tree_of, view


def rows(text):
    """The rows of a view, one on a line."""
    return {tuple(line.split()) for line in text.strip().splitlines()}


def twins(text):
    """The rows written about `a`, and the same about `b`."""
    return rows(text.replace("@", "a")) | rows(text.replace("@", "b"))


def twin_files(text, **others):
    """The files `a.py` and `b.py` of the same text, and others."""
    return tree_of({"a.py": text, "b.py": text} | {f"{name}.py": other for name, other in others.items()})


def test_imports_lead_to_known_modules_and_to_the_packages_around_them():
    files = {
        "p/__init__.py": "",
        "p/a.py": "import q.b",
        "p/b.py": "",
        "q/__init__.py": "",
        "q/b.py": "",
        "r.py": "",
        "m.py": "import os\nfrom os import path\nfrom p import b\nfrom r import b as c",
        "n.py": "def f():\n    from p import b\n    from r import c",
    }
    assert view(replay_of(tree_of(files)), "imports") == rows("""
        m p load
        m p.b load
        m r load
        n p call
        n p.b call
        n r call
        p.a q load
        p.a q.b load
        """)


def test_only_modules_on_a_path_of_imports_load_each_other():
    imports = ["a1 a2", "a2 a1", "b1 b2", "b2 b1", "u v", "v w", "z y", "y x"]
    files = {f"{m}.py": f"import {n}" for m, n in map(str.split, imports)}
    replay = replay_of(tree_of(files | {"w.py": "", "x.py": "", "late.py": "def f():\n    import u"}))
    loads = twins("@1 @1\n@1 @2\n@2 @1\n@2 @2") | rows("u v\nu w\nv w\nz y\nz x\ny x")
    assert view(replay, "loads") == loads
    assert view(replay, "affects") == {(n, m) for m, n in loads} | rows("u late\nv late\nw late")
    assert view(replay, "import_cycle") == twins("@1 @2")


def test_names_are_bound_by_their_own_scope_from_their_own_source():
    files = {
        "p/__init__.py": "",
        "p/q.py": "",
        "a.py": "def f(): pass\ndef g(): pass",
        "b.py": "def f(): pass",
        "listed.py": "__all__ = ['x']\ndef x(): pass\ndef y(): pass",
        "other.py": "__all__ = ['y']\ndef x(): pass\ndef y(): pass",
        "m.py": """
            import os
            import p.q
            from a import f
            from listed import *
            def h():
                k = f
            """,
    }
    assert view(replay_of(tree_of(files)), "binds") == rows("""
        p      q  p.q
        a      f  a:f
        a      g  a:g
        b      f  b:f
        listed x  listed:x
        listed y  listed:y
        other  x  other:x
        other  y  other:y
        m      p  p
        m      f  a:f
        m      x  listed:x
        m      h  m:h
        m:h    k  a:f
        """)


def test_dotted_names_are_attributes_of_modules_and_classes_only():
    text = """
        class C:
            def f(self): pass
        def f():
            def g(): pass
        """
    replay = replay_of(twin_files(text, m="import a\na.f.g\na.C.f", n="import b as a\na.C"))
    own = twins("""
        @    C  @:C
        @:C  f  @:C.f
        @    f  @:f
        @:f  g  @:f.g
        """)
    assert view(replay, "means") == own | rows("""
        m  a      a
        m  a.f    a:f
        m  a.C    a:C
        m  a.C.f  a:C.f
        n  a      b
        n  a.C    b:C
        """)


@pytest.fixture(scope="module")
def classes():
    text = """
        class A:
            def __init__(self): pass
            def f(self): self.g()
            def g(self): pass
        class B(A):
            def g(self): super().g()
        class C(B): pass
        class D(h): pass
        def h(): B()
        if __name__ == "__main__":
            h()
        """
    return replay_of(twin_files(text))


def test_only_classes_are_extended(classes):
    assert view(classes, "extends") == twins("@:B @:A\n@:C @:B")
    assert view(classes, "subclass") == twins("@:B @:A\n@:C @:B\n@:C @:A")


def test_only_classes_have_members(classes):
    assert view(classes, "member") == twins("""
        @:A  __init__  @:A.__init__
        @:A  f         @:A.f
        @:A  g         @:A.g
        @:B  __init__  @:A.__init__
        @:B  f         @:A.f
        @:B  g         @:B.g
        @:C  __init__  @:A.__init__
        @:C  f         @:A.f
        @:C  g         @:B.g
        """)


def test_a_call_stays_in_its_class_hierarchy(classes):
    assert view(classes, "calls") == twins("""
        @       @:h
        @:h     @:A.__init__
        @:A.f   @:A.g
        @:A.f   @:B.g
        @:B.g   @:A.g
        """)
    assert view(classes, "reaches") == twins("@ @:h\n@ @:A.__init__")


def test_each_part_of_a_dotted_name_is_used_and_may_be_unresolved():
    text = """
        import socket
        class K:
            def g(self): pass
        def f():
            K.g
            K.missing
            socket.create.server()
        """
    other = """
        class socket:
            def create(self): pass
        socket.create
        def late(): K.g
        """
    replay = replay_of(twin_files(text, other=other))
    assert view(replay, "uses") == twins("""
        @:f  @  K.g
        @:f  @  K.missing
        @:f  @  K
        @:f  @  socket.create.server
        @:f  @  socket.create
        @:f  @  socket
        """) | rows("""
        other       other  socket.create
        other       other  socket
        other:late  other  K.g
        other:late  other  K
        """)
    assert view(replay, "unresolved") == twins("@:f missing\n@:f create\n@:f server") | rows("other:late g")


def test_only_what_is_alive_keeps_other_code_alive():
    main = """
        import library
        class Used:
            def asked_by_the_dead(self): pass
        class Unused:
            def __len__(self): return 0
        def asked(): pass
        def same(): pass
        def unused(x): x.asked_by_the_dead()
        def factory():
            class Sub(Used, library.Base):
                def hook(self): pass
        if __name__ == "__main__":
            same()
            Used
            library.Base.run
            for x in []:
                x.asked
        """
    library = """
        class Base:
            def run(self): self.hook()
        def same(): pass
        def __getattr__(name): pass
        """
    idle = """
        import loaded_by_idle
        def __getattr__(name): pass
        """
    files = {"main": main, "library": library, "idle": idle, "loaded_by_idle": "def f(): pass\nf()"}
    replay = replay_of(tree_of({f"{name}.py": text for name, text in files.items()}))
    dead_at = {
        ("main.py", 4, "main:Used.asked_by_the_dead"),
        ("main.py", 6, "main:Unused.__len__"),
        ("main.py", 7, "main:asked"),
        ("main.py", 9, "main:unused"),
        ("main.py", 10, "main:factory"),
        ("library.py", 4, "library:same"),
        ("idle.py", 3, "idle:__getattr__"),
        ("loaded_by_idle.py", 1, "loaded_by_idle:f"),
    }
    assert view(replay, "dead_at") == dead_at
    assert view(replay, "dead") == {(function, file.removesuffix(".py")) for file, _, function in dead_at}
