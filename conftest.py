"""What every test may use: hypothesis profiles, golden files, one Spark session for all."""

from __future__ import annotations

import difflib
import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from deltic.engine.kernels.declaring import Kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent
# The arrays that kernels take, by the names of their types.
ARRAYS = {
    "Words1": (np.dtype(np.uint64), 1),
    "Words2": (np.dtype(np.uint64), 2),
    "Rows": (np.dtype(np.uint64), 2),
    "Ints": (np.dtype(np.int64), 1),
    "Table": (np.dtype(np.int64), 2),
    "Times": (np.dtype(np.int32), 1),
    "Weights": (np.dtype(np.int64), 1),
}

# Kernels compile in their first call, so a deadline would measure the compiler. CI judges a change, not the luck of its
# examples: it draws the same ones each time, and others only where a test changes.
_common = settings(
    deadline=None,
    print_blob=True,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("default", _common, max_examples=50)
settings.register_profile("thorough", _common, max_examples=1000)
settings.load_profile("default")

# Processes in the background of a shell begin with Ctrl-C ignored, and so would those that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Spark's Python workers would be whatever `python3` is on the PATH, and that one has not our requirements.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files with what the tests got")


@pytest.fixture(autouse=True, scope="session")
def _checked_arguments() -> Iterator[None]:
    """Let kernels refuse arrays that are not what they say: machine code would read them as if they were."""
    call = Kernel.__call__

    @cache
    def arrays(kernel: Kernel) -> list[tuple[int, tuple[np.dtype[Any], int]]]:
        annotations = enumerate(kernel.function.__annotations__.values())
        return [(place, ARRAYS[name]) for place, name in annotations if name in ARRAYS]

    def checked(kernel: Kernel, *args: Any) -> Any:
        for place, wanted in arrays(kernel):
            if place < len(args):
                argument = args[place]
                fits = isinstance(argument, np.ndarray) and (argument.dtype, argument.ndim) == wanted
                assert fits, f"{kernel.name} wants dtype and dimensions {wanted}, not {argument!r}"
        return call(kernel, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", checked)
        yield


def pytest_collection_finish() -> None:
    """Exempt the tests, which live to the end, from garbage collections: they take an eighth of the time otherwise."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let the end of Python free them, whose extensions report what is left as a leak."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook of this name
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put every test that needs Spark on one xdist worker: a second session would cost a second JVM."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker("spark")
            item.add_marker(pytest.mark.xdist_group("spark"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many random cases the tests tried: the sums of the properties called "random ..." that they record."""
    totals: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        totals.update({name: n for name, n in report.user_properties if name.startswith("random ")})
    if totals:
        terminalreporter.write_line(", ".join(f"{n:,} {name}" for name, n in sorted(totals.items())))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("datalog/unknown-relation.txt", text)`: text equals that file of tests/golden, up to trailing newlines.

    A package in extensions has its own folder `golden` in its tests.

    With `--update-golden` the file is written instead, so that the change shows in the diff of the commit.
    """
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        own = next((p for p in request.path.parents if p.name == "tests" and "extensions" in p.parts), ROOT / "tests")
        path = own / "golden" / name
        got = text.rstrip("\n") + "\n"
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(got, encoding="utf-8")
        elif not path.exists():
            pytest.fail(f"no golden file {path}; run pytest with --update-golden and review it", pytrace=False)
        elif (expected := path.read_text(encoding="utf-8")) != got:
            diff = difflib.unified_diff(expected.splitlines(), got.splitlines(), f"golden/{name}", "got", lineterm="")
            pytest.fail("\n".join([*diff, "if this is meant: pytest --update-golden"]), pytrace=False)

    return compare


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session of two cores; made when the first test asks for it."""
    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("deltic-tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.local.dir", str(scratch / "local"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
