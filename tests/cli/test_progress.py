"""Progress is for terminals and for what takes time."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from deltic.cli import progress
from deltic.pipeline.epochs.report import EpochReport
from deltic.pipeline.job.outcome import EpochDone, JobProgress


def shown(patience, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    screen = io.StringIO()
    with progress.TerminalProgress(Console(file=screen, force_terminal=True, width=100)) as watch:
        watch.expect(3)
        with watch.step("reading the facts"):
            time.sleep(0.3)
        watch.epoch(EpochDone("initial", EpochReport(), 0, 0, 0))
    return screen.getvalue()


def test_what_takes_long_is_shown_with_the_count_of_epochs(monkeypatch):
    screen = shown(0.01, monkeypatch)
    assert "reading the facts" in screen
    assert "1/3" in screen


def test_what_is_quick_is_not(monkeypatch):
    assert "reading" not in shown(60.0, monkeypatch)


@pytest.mark.parametrize("quiet", [True, False])
def test_nothing_where_there_is_no_terminal(quiet, capsys):
    with progress.progress_for(quiet) as watch:
        assert type(watch) is JobProgress
