"""Git histories as edits: catches a commit whose change is not that of the two trees around it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deltic.demo.subject import Repository, history
from deltic.demo.tree import Tree
from deltic.errors import DelticError


class Git:
    """A repository in the making."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self("init", "-q", "-b", "trunk")

    def __call__(self, *arguments: str) -> str:
        person = {
            f"GIT_{role}_{what}": f"{role}@example.org"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        environment = {**os.environ, **person, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str, **texts: bytes | None) -> None:
        """Writes and removes files (`a__b` is a/b.py) and commits."""
        for name, text in texts.items():
            self.write(name.replace("__", "/") + ".py", text)
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", message)

    def write(self, name: str, text: bytes | None) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True) if text is None else path.write_bytes(text)


@pytest.fixture
def git(tmp_path):
    return Git(tmp_path)


def check(path: Path, commits: int = 100) -> list[str]:
    """Replays the history; every tree on the way must be the one git has. The words of the edits."""
    repository = Repository(path)
    hashes = repository.commits(commits)
    subject = history(path, commits - 1)
    words = []
    for commit, edit in zip(hashes[1:], subject.edits, strict=True):
        subject.tree.apply(edit)
        expected = Tree(repository.python_files(commit))
        assert subject.tree.modules == expected.modules
        assert all(subject.tree.source(path) == expected.source(path) for path in expected.modules)
        words.append(edit.words.partition(" ")[2])
    return words


def test_files_come_change_move_and_go(git):
    git.commit("first", a=b"import b\n", p__b=b"x = 1\n")
    git.commit("change", a=b"import c\n")
    git("mv", "a.py", "p/renamed.py")
    git.commit("move")
    git.commit("go", p__b=None)
    git.commit("no Python", README=None)
    assert check(git.path) == ["change", "move", "go", "no Python"]


def test_a_merge_is_one_edit_of_its_first_parent(git):
    git.commit("first", a=b"x = 1\n")
    git("checkout", "-q", "-b", "side")
    git.commit("side 1", b=b"y = 1\n")
    git.commit("side 2", b=b"y = 2\n", a=None)
    git("checkout", "-q", "trunk")
    git.commit("trunk", c=b"z = 1\n")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert check(git.path) == ["trunk", "merge"]


def test_what_is_no_python_text_is_no_obstacle(git):
    git.commit("first", a=b"x = 1\n")
    git.commit("binary", b=bytes(range(256)))
    (git.path / "link.py").symlink_to("a.py")
    (git.path / "b.py").unlink()
    (git.path / "b.py").symlink_to("a.py")
    git.commit("links")
    git.commit("empty", c=b"")
    assert check(git.path) == ["binary", "links", "empty"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_names_beyond_ascii(git):
    git.commit("first", a=b"x = 1\n")
    git.write("caf\xe9 au lait.py", b"y = 1\n")
    (Path(os.fsdecode(os.fsencode(git.path) + b"/latin-\xe9.py"))).write_bytes(b"z = 1\n")
    git.commit("names")
    git("rm", "-q", "caf\xe9 au lait.py")
    git.commit("gone")
    assert check(git.path) == ["names", "gone"]


def test_the_limit_counts_edits_and_takes_the_last_ones(git):
    for n in range(5):
        git.commit(f"commit {n}", a=b"x = %d\n" % n)
    assert check(git.path, commits=3) == ["commit 3", "commit 4"]
    assert history(git.path, 2).count == 2


def test_a_folder_inside_a_repository_stands_for_the_repository(git):
    git.commit("first", a=b"x = 1\n", p__b=b"y = 1\n")
    git.commit("second", a=b"x = 2\n", p__b=b"y = 2\n")
    assert check(git.path / "p") == ["second"]


def test_the_working_tree_is_left_alone(git):
    git.commit("first", a=b"x = 1\n")
    git.commit("second", a=b"x = 2\n")
    git.write("a.py", b"uncommitted")
    check(git.path)
    assert git("status", "--porcelain") == " M a.py\n"


def test_what_is_wrong_with_a_repository_is_said_in_one_line(git, tmp_path_factory):
    with pytest.raises(DelticError, match="not a git repository"):
        history(tmp_path_factory.mktemp("plain"), 5)
    with pytest.raises(DelticError, match="HEAD"):
        history(git.path, 5)
    git.commit("only")
    with pytest.raises(DelticError, match="one commit long"):
        history(git.path, 5)
    git.commit("another")
    with pytest.raises(DelticError, match="no Python files"):
        history(git.path, 5)
