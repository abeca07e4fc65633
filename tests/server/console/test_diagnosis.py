"""What the first screen says is wrong: catches an incident that is not seen, dated wrongly or blamed on another view,
and noise that is taken for one. The epochs are made here, so that the truth is known.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic.server.service import Service
from tests.server.console.conftest import opened, served

pytestmark = pytest.mark.xdist_group("console")

EVERY = 500
"""Milliseconds from one epoch to the next."""
DIAGNOSE = """async ([epochs, minutes]) => {
    const of = await import("/console/diagnosis.js");
    const told = of.slowness(epochs, minutes, new Date(epochs.at(-1).at).getTime());
    if (told === null) return null;
    const views = of.shares(told.slow).views.map(([view]) => view);
    return {since: told.since, usual: told.usual, hottest: views[0], grown: of.grown(told.slow, told.before)};
}"""


@pytest.fixture(scope="module")
def diagnose(browser):
    """A function from epochs and minutes to what the page makes of them."""
    with (
        deltic.Pipeline() as pipeline,
        Service(pipeline) as service,
        served(service) as url,
        opened(browser, url) as page,
    ):
        yield lambda epochs, minutes=(): page.evaluate(DIAGNOSE, [epochs, list(minutes)])


def instant(number):
    """The time of an epoch."""
    seconds, thousandths = divmod(number * EVERY, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"2026-11-28T02:{minutes:02}:{seconds:02}.{thousandths:03}Z"


def epoch(number, seconds, rows=10, hot="calm"):
    other = {"calm": 0.3 * seconds, "hot": 0.1 * seconds}
    work = other | {hot: 0.6 * seconds}
    visited = dict.fromkeys(work, 20)
    return {
        "epoch": number,
        "at": instant(number),
        "seconds": seconds,
        "rows_in": rows,
        "tables": {"t": rows, "s": 3},
        "work": work,
        "visited": visited,
        "phases": {"evaluation": seconds},
    }


def noise(draws, seconds):
    """A duration of epochs that take about so long, one of thirty much longer."""
    return seconds * draws.lognormvariate(0, 0.3) * (8 if draws.random() < 1 / 30 else 1)


@pytest.mark.parametrize("seed", range(12))
def test_a_step_is_found_where_it_was_made(diagnose, seed):
    draws = random.Random(seed)
    begin, length = draws.randrange(60, 300), draws.randrange(25, 200)
    factor = draws.choice([6, 10, 40])
    calm = [epoch(n, noise(draws, 0.03)) for n in range(begin)]
    slow = [epoch(n, noise(draws, 0.03 * factor), hot="hot") for n in range(begin, begin + length)]
    told = diagnose([*calm, *slow])
    assert told["hottest"] == "hot"
    assert told["grown"] is None
    assert instant(begin - 10) <= told["since"] <= instant(begin + 5)


@pytest.mark.parametrize("seed", range(12))
def test_noise_is_no_incident(diagnose, seed):
    draws = random.Random(seed)
    assert diagnose([epoch(n, noise(draws, draws.choice([0.001, 0.005]))) for n in range(300)]) is None


def test_few_epochs_are_slow_by_the_clock_alone(diagnose):
    assert diagnose([epoch(0, 0.01), epoch(1, 0.4)]) is None
    assert diagnose([epoch(0, 0.01), epoch(1, 4.0, hot="hot")])["hottest"] == "hot"


def test_every_other_epoch_slow_is_an_incident(diagnose):
    calm = [epoch(n, 0.02) for n in range(100)]
    slow = [epoch(n, 0.5 if n % 2 else 0.02, hot="hot") for n in range(100, 140)]
    told = diagnose([*calm, *slow])
    assert told["since"] == instant(101)
    assert told["usual"] == 0.02


def test_large_changes_are_the_cause(diagnose):
    calm = [epoch(n, 0.02) for n in range(100)]
    told = diagnose([*calm, *(epoch(n, 0.4, rows=5000) for n in range(100, 150))])
    assert told["grown"] == {"table": "t", "rows": 5000, "usual": 10}


def test_an_incident_that_is_over_is_none(diagnose):
    epochs = [epoch(n, 0.5 if 40 <= n < 90 else 0.02) for n in range(200)]
    assert diagnose(epochs) is None


def test_minutes_date_what_is_older_than_the_epochs(diagnose):
    """The server keeps 600 epochs: where all of them are slow, minutes say since when."""
    slow = [epoch(n, 0.5) for n in range(1200, 1800)]
    minutes = [
        {"at": f"2026-11-28T0{1 if n < 60 else 2}:{n % 60:02}:00Z", "epochs": 100, "seconds": 100 * s, "slowest": s}
        for n, s in ((n, 0.5 if n >= 50 else 0.02) for n in range(75))
    ]
    assert diagnose(slow, minutes)["since"] == "2026-11-28T01:50:00Z"
