"""Small trees of files for the tests, with their views computed without Spark."""

from textwrap import dedent

import pyarrow as pa

from deltic.demo.extract import Fact, SourceFile, facts_of
from deltic.demo.replay import Replay
from deltic.demo.spark_facts import FACTS, fact_batch
from deltic.demo.subject import stdlib_root
from deltic.demo.tree import Tree


def tree_of(files: dict[str, str]) -> Tree:
    """A tree of files given by path and text; common indentation is taken away."""
    return Tree({path: dedent(text).encode() for path, text in files.items()})


def library(*packages: str) -> Tree:
    """Some packages of the standard library."""
    root = stdlib_root()
    return Tree({p.relative_to(root).as_posix(): p for package in packages for p in (root / package).rglob("*.py")})


def facts_table(tree: Tree) -> pa.Table:
    """What the Spark job makes of a tree, made here."""
    sources = [tree.source(path) for path in tree.modules]
    return pa.Table.from_batches([fact_batch(s.module, facts_of(s)) for s in sources], FACTS)


def replay_of(tree: Tree) -> Replay:
    """The views of a tree, evaluated."""
    replay = Replay(None, tree, facts_table(tree))
    replay.start()
    return replay


def view(replay: Replay, name: str) -> set[tuple[object, ...]]:
    """The rows of a view."""
    return set(replay.pipeline[name])


def facts(text: str, file: str = "m.py", module: str = "m") -> dict[str, set[tuple[object, ...]]]:
    """The facts of one file by relation."""
    found: dict[str, set[tuple[object, ...]]] = {}
    for relation, row in raw_facts(text, file, module):
        found.setdefault(relation, set()).add(row)
    return found


def raw_facts(text: str | bytes, file: str = "m.py", module: str = "m") -> set[Fact]:
    """The facts of one file."""
    return facts_of(SourceFile(file, module, text if isinstance(text, bytes) else dedent(text).encode()))
