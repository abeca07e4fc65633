"""The session of a run: catches one of the caller's that is stopped, and one of our own that is left running."""

from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from deltic.demo import main


@pytest.fixture
def events(monkeypatch):
    """What happens to the sessions that a run makes for itself, without Java."""
    parts = []

    @contextmanager
    def spark_session(master):
        parts.append(f"start {master}")
        try:
            yield "own"
        finally:
            parts.append("stop")

    monkeypatch.setattr(main, "spark_session", spark_session)
    return parts


def test_the_callers_session_is_used_and_left_alone(events, monkeypatch):
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: "the caller's")
    with main.active_or_new_session("local[2]") as spark:
        assert spark == "the caller's"
    assert events == []


def test_without_one_a_session_is_made_and_stopped(events, monkeypatch):
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with main.active_or_new_session("local[2]") as spark:
        assert spark == "own"
        assert events == ["start local[2]"]
    assert events == ["start local[2]", "stop"]
