"""What an iteration costs in recursions that compute with text, floats and other functions.

`python benchmarks/functions.py` runs a recursion of one new row an iteration for each function, in this process.
"""

from __future__ import annotations

import argparse
import time
from string import Template

from harness import report
from problems import new_engine, signed

HEADER = ["function", "µs per iteration", "seconds in all", "rows visited"]
NOTES = """\
One row an iteration, each with values that were not there before; µs of the processor's time of the thread, the
iterations' share alone: the difference to a run of three iterations."""
_PROGRAM = Template("""
.decl start(most: number)
.input start
.decl r(n: number, x: $type)
.output r
r(0, $first) :- start(_).
r(n + 1, $value) :- r(n, x), start(most), n < most$condition.
""")
# Of each case: the type, the first value, the value computed of x and n, and a condition.
CASES = {
    "integers: x bxor (n bshl 2)": ("number", "1", "x bxor (n bshl 2)", ""),
    'cat(x, "a")': ("symbol", '""', 'cat(x, "a")', ""),
    "substr(…, n % 20, 1)": ("symbol", '""', 'substr("abcdefghijklmnopqrst", n % 20, 1)', ""),
    "strlen(x)": ("symbol", '""', 'cat(x, "a")', ", strlen(x) >= 0"),
    "match(…, x)": ("symbol", '""', 'cat(x, "a")', ', match("a*", x)'),
    "contains(…, x)": ("symbol", '""', 'cat(x, "a")', ', !contains("b", x)'),
    'x < "b"': ("symbol", '""', 'cat(x, "a")', ', x < "b"'),
    "to_string(n)": ("symbol", '""', "to_string(n)", ""),
    "to_number(x)": ("symbol", '"0"', "to_string(to_number(x) + 1)", ""),
    "to_float(x)": ("symbol", '"0.5"', "to_string(to_float(x) / 1.001)", ""),
    "floats: x * 0.999": ("float", "1.0", "x * 0.999", ""),
    "max(x * 0.999, 0.001)": ("float", "1.0", "max(x * 0.999, 0.001)", ""),
    "x / y": ("float", "1.0", "x / itof(n + 1)", ""),
    "integers: 1000000 / (n + 1)": ("number", "1", "1000000 / (n + 1)", ""),
    "n ^ 2": ("number", "1", "n ^ 2", ""),
}


def measure(program: str, iterations: int) -> tuple[float, float, int]:
    """Processor time, time and rows visited of the epoch in which the recursion runs."""
    import pyarrow as pa

    engine = new_engine(program)
    changes = signed({"start": pa.table({"most": [iterations]})}, 1)
    started, busy = time.perf_counter(), time.thread_time()
    result = engine.apply(changes)
    return time.thread_time() - busy, time.perf_counter() - started, result.rows_visited


def main(iterations: int) -> None:
    """Measure and report."""
    rows: list[list[object]] = []
    for name, (type_, first, value, condition) in CASES.items():
        program = _PROGRAM.substitute(type=type_, first=first, value=value, condition=condition)
        measure(program, 20)
        few, _, _ = measure(program, 3)
        many, seconds, visited = measure(program, iterations)
        rows.append([name, f"{(many - few) / (iterations - 3) * 1e6:.1f}", f"{seconds:.3f}", f"{visited:,}"])
    report("functions", f"Recursions that compute, {iterations} iterations", HEADER, rows, NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=300)
    main(parser.parse_args().iterations)
