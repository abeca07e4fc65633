"""The Python of docs/ddlog.md runs as printed. Catches an example that has gone stale."""

from __future__ import annotations

from tests.test_docs_pages import test_python_blocks_run_as_printed as run_blocks


def test_the_page_of_ddlog_runs_as_printed():
    run_blocks("ddlog.md")
