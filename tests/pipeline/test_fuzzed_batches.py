"""Some hundreds of the batches of `tests.pipeline.fuzzing`: each is taken as what it says, or refused without a trace.

Catches another library's exception that reaches the user, a value that is changed on its way, and a batch that was
refused and left something behind. `python -m tests.pipeline.fuzzing` tries ten thousand.
"""

from __future__ import annotations

from tests.pipeline.fuzzing.run import run


def test_batches_are_taken_as_they_are_meant_or_refused():
    failures = [found for found in run(450, seed=10_000) if found.error is not None]
    assert not failures, f"seed {failures[0].seed}, {failures[0].batch}: {failures[0].error!r}"
