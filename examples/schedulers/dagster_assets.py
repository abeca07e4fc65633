"""Dagster: the published views are assets; a schedule refreshes them, and their metadata say what changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

FILE = Path(__file__).with_name("shop.yml")


@dg.multi_asset(specs=[dg.AssetSpec("takings")])
def published() -> Iterator[dg.MaterializeResult]:
    """Refresh; a source that failed fails the run, after the others have been published."""
    done = subprocess.run(["deltic", "refresh", FILE, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        raise dg.Failure("deltic refresh failed")
    report = json.loads(done.stdout)
    changed = report["changed"].get("takings", {"inserted": 0, "deleted": 0})
    yield dg.MaterializeResult(asset_key="takings", metadata={"epoch": report["epoch"], **changed})
    if report["failed"]:
        raise dg.Failure("sources failed", metadata=report["failed"])


job = dg.define_asset_job("refresh", selection=[published])
schedule = dg.ScheduleDefinition(job=job, cron_schedule="*/5 * * * *")
defs = dg.Definitions(assets=[published], jobs=[job], schedules=[schedule])
