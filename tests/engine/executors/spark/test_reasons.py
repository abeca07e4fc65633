"""Why a job failed, of what Spark tells. Catches a trace's line that says nothing, and a full disk without a host."""

import pytest

from deltic.engine.executors.spark.job import reason_of

LOST = (
    "Job aborted due to stage failure: Task 1 in stage 4.0 failed 4 times, most recent failure: "
    "Lost task 1.3 in stage 4.0 (TID 14) (127.0.0.3 executor 0): "
)
FRAME = "\n\tat org.apache.spark.scheduler.Task.run(Task.scala:147)\n\t... 4 more"


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            f"{LOST}java.lang.OutOfMemoryError: heap{FRAME}\n\tSuppressed: java.io.IOException: x{FRAME}",
            "java.io.IOExc",
        ),
        (
            f"{LOST}org.apache.spark.api.python.PythonException: Traceback\nRuntimeError: it fails\n{FRAME}",
            "RuntimeErr",
        ),
        (f"{LOST}java.io.IOException: No space left on device{FRAME}", "the disk of 127.0.0.3 is full where Spark"),
        (
            f"{LOST}ModuleNotFoundError: No module named 'pyarrow'{FRAME}",
            "ModuleNotFoundError: No module named 'pyarrow'; ",
        ),
        (
            f"{LOST}Traceback\nModuleNotFoundError: No module named 'mine'{FRAME}",
            "ModuleNotFoundError: No module named 'mine'",
        ),
        ("[DIVIDE_BY_ZERO] Division by zero.\n== SQL (line 1) ==\n1/id\n^^^^", "[DIVIDE_BY_ZERO] Division by zero."),
        (f"calling o3.load.\n: java.X: y{FRAME}\nCaused by: java.io.FileNotFoundException: z{FRAME}", "java.io.File"),
        (f"calling o3.load.\n: org.postgresql.util.PSQLException: FATAL{FRAME}", "org.postgresql"),
        ("", "no reason was given"),
    ],
)
def test_a_reason_is_one_line(told, reason):
    assert reason_of(told).startswith(reason)
    assert "\n" not in reason_of(told)
