"""Airflow: a refresh every five minutes, never two at once; the next one tries again what failed."""

from __future__ import annotations

from pathlib import Path

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

FILE = Path(__file__).with_name("shop.yml")

with DAG(
    "shop",
    schedule="*/5 * * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
) as dag:
    BashOperator(task_id="refresh", bash_command=f"deltic refresh {FILE}")
