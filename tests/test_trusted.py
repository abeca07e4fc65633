"""What is executed when it is loaded is read only where this user alone can write.

Catches a pickle or machine code that is loaded from a file, or from below a directory, that another user may write or
replace: by mode, by owner, by a symbolic link, or between a check by name and the opening.
"""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deltic import caches, grammars
from deltic.errors import DelticError
from deltic.trusted import UntrustedError, check_directory, read_trusted


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for caches; warnings are given again."""
    caches.warn.cache_clear()
    made = tmp_path / "above" / "caches"
    made.mkdir(parents=True)
    monkeypatch.setenv("DELTIC_CACHE_DIR", str(made))
    return made


def let_another_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a path belong to another user: root gives it away, others become somebody else."""
    if os.geteuid() == 0:
        os.chown(path, 4321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4321)


def linked(place: Path) -> None:
    """The directory is a link to one that everybody may write."""
    place.rmdir()
    elsewhere = place.parent / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    place.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("open_to_others", "reason"),
    [
        (lambda place: place.chmod(0o770), r"others may write .*/caches \(mode 770\): chmod go-w"),
        (lambda place: place.chmod(0o1777), r"others may write .*/caches \(mode 1777\)"),
        (lambda place: place.parent.chmod(0o702), r"others may write .*/above \(mode 702\): chmod go-w"),
        (linked, r"others may write .*/elsewhere \(mode 777\)"),
    ],
)
def test_a_directory_that_others_may_write_is_refused(
    place: Path, open_to_others: Callable[[Path], None], reason: str
) -> None:
    assert caches.directory() == place
    open_to_others(place)
    with pytest.raises(DelticError, match=f"by this user alone; name one by DELTIC_CACHE_DIR: {reason}"):
        caches.directory()


def test_a_directory_of_another_user_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_another_own(place.parent, monkeypatch)
    with pytest.raises(UntrustedError, match="belongs to another user"):
        check_directory(place)


def test_below_a_sticky_directory_a_private_one_is_trusted(place: Path) -> None:
    place.parent.chmod(0o1777)
    assert caches.directory() == place


def test_without_a_choice_the_next_directory_is_taken_with_a_warning(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("DELTIC_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place.parent))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(place))
    (place.parent / "deltic").mkdir()
    (place.parent / "deltic").chmod(0o777)
    with caplog.at_level(logging.WARNING, "deltic"):
        assert caches.directory() == caches.directory() == place / f"deltic-{os.getuid()}"
    (warning,) = caplog.messages
    assert warning.startswith(f"caches are kept in {place}/deltic-")
    assert warning.endswith("chmod go-w " + str(place.parent / "deltic"))


def test_what_is_kept_is_this_users_alone_whatever_the_umask(place: Path) -> None:
    before = os.umask(0)
    try:
        caches.write(place / "kept", b"content")
    finally:
        os.umask(before)
    assert caches.read(place / "kept") == b"content"
    assert (place / "kept").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in place.iterdir()] == ["kept"]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_made_again(place: Path, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    caches.write(place / "kept", b"content")
    (place / "kept").chmod(mode)
    assert caches.read(place / "kept") is None
    assert f"a cached file is made again: others may write {place}/kept (mode {mode:o})" in caplog.text


def test_a_file_of_another_user_a_link_and_a_pipe_are_not_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches.write(place / "kept", b"content")
    (place / "link").symlink_to("kept")
    os.mkfifo(place / "pipe", 0o600)
    assert caches.read(place / "link") is None
    assert caches.read(place / "pipe") is None
    let_another_own(place / "kept", monkeypatch)
    with pytest.raises(UntrustedError, match="belongs to another user"):
        read_trusted(place / "kept")


def test_a_damaged_file_is_made_again(place: Path) -> None:
    caches.write(place / "kept", b"content")
    (place / "kept").write_bytes((place / "kept").read_bytes()[:-1])
    assert caches.read(place / "kept") is None


class Executed:
    """A pickle that leaves a file when it is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.trace),)


def test_a_grammar_that_others_may_write_is_not_executed(place: Path, tmp_path: Path) -> None:
    grammars.load.__wrapped__("deltic.datalog.souffle", "program")
    (tables,) = place.iterdir()
    caches.write(tables, pickle.dumps(Executed(tmp_path / "trace")))
    tables.chmod(0o666)
    grammars.load.__wrapped__("deltic.datalog.souffle", "program")
    assert not (tmp_path / "trace").exists()
    assert caches.read(tables) is not None
    assert grammars.load.__wrapped__("deltic.datalog.souffle", "program").parse(".decl a(x:number)")
