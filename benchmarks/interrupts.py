"""Ctrl-C at random instants while ten threads use one pipeline: no crash, no wrong state.

`python benchmarks/interrupts.py` sends 1,000 interrupts (`--interrupts`) to a process whose main thread commits,
previews and reads, and whose other threads (`--threads`) do, too. Each thread keeps a model of its rows. After every
interrupt the main thread's rows have to be those of its last committed transaction; at all times every reader has to
find views that equal their recomputation from the tables of the same epoch.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

from harness import report

import deltic

PROGRAM = """
    .decl reaches(x: number, y: number)
    reaches(x, y) :- e(x, y, _).
    reaches(x, z) :- reaches(x, y), e(y, z, _).
    .decl named(name: symbol, c: number)
    named(n, c) :- e(_, _, n), c = count : { e(_, _, n) }.
"""
NODES = 12


class Worker:
    """One thread's rows in the pipeline: edges between nodes of its own, by the key (x, y)."""

    def __init__(self, pipeline: deltic.Pipeline, number: int) -> None:
        self.pipeline, self.first = pipeline, NODES * number
        self.random = random.Random(number)
        self.rows: dict[tuple[int, int], str] = {}
        self.done: Counter[str] = Counter()
        self.change: Any = None
        self.after = self.rows

    def step(self) -> None:
        """One transaction, preview or read."""
        kind = self.random.choice(["upsert", "delete", "statement", "what if", "read", "look up"])
        getattr(self, kind.replace(" ", "_"))()
        self.done[kind] += 1

    def settle(self) -> None:
        """Take over what was committed."""
        if self.change is not None and self.change.is_open:
            self.change.discard()
        if self.change is not None and self.change.is_committed:
            self.rows = self.after
        self.change = None

    def _transact(self, after: dict[tuple[int, int], str], apply: Any) -> None:
        self.after = after
        self.change = self.pipeline.transaction()
        with self.change as change:
            apply(change)
        self.settle()

    def _edge(self) -> tuple[int, int]:
        return self.first + self.random.randrange(NODES), self.first + self.random.randrange(NODES)

    def upsert(self) -> None:
        """Some edges, with names that nobody has used."""
        new = {self._edge(): f"name {self.random.randrange(10**6)}" for _ in range(self.random.choice([1, 1, 5]))}
        self._transact({**self.rows, **new}, lambda c: c.upsert("e", [(*key, name) for key, name in new.items()]))

    def delete(self) -> None:
        """Some edges by their keys, others as rows."""
        gone = self.random.sample(sorted(self.rows), min(len(self.rows), 3))
        after = {key: name for key, name in self.rows.items() if key not in gone}

        def apply(change: Any) -> None:
            change.delete("e", gone[:1])
            change.delete("e", [(*key, self.rows[key]) for key in gone[1:]])

        self._transact(after, apply)

    def statement(self) -> None:
        """An UPDATE."""
        (x, _), name = self._edge(), f"updated {self.random.randrange(3)}"
        after = {key: name if key[0] == x else old for key, old in self.rows.items()}
        self._transact(after, lambda c: c.sql(f"UPDATE e SET name = '{name}' WHERE x = {x}"))

    def what_if(self) -> None:
        """A transaction that is looked at and discarded."""
        x, y = self._edge()
        self.change = self.pipeline.what_if()
        with self.change as change:
            change.upsert("e", [(x, y, "what if")])
            assert list(change.preview()["e"].lookup(x=x, y=y)) == [(x, y, "what if")]
        self.settle()

    def read(self) -> None:
        """All views, at one epoch."""
        seen = self.pipeline.snapshot()
        rows = set(seen["e"])
        own = {(x, y): name for x, y, name in rows if self.first <= x < self.first + NODES}
        assert own == self.rows, (own, self.rows)
        assert dict(seen["named"]) == Counter(name for _, _, name in rows)
        reached = {(x, y) for x, y in seen["reaches"] if self.first <= x < self.first + NODES}
        assert reached == closure(set(self.rows))

    def look_up(self) -> None:
        """An edge by its key."""
        x, y = self._edge()
        name = self.rows.get((x, y))
        assert list(self.pipeline["e"].lookup(x=x, y=y)) == ([] if name is None else [(x, y, name)])


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All pairs between which there is a path."""
    found = set(edges)
    while new := {(x, z) for x, y in found for a, z in edges if a == y} - found:
        found |= new
    return found


def child(interrupts: int, threads: int) -> None:
    """Be interrupted so many times beside other threads; print what was done."""
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(retain=3))
    pipeline.table("e", {"x": "int64", "y": "int64", "name": "string"}, key=("x", "y"))
    pipeline.datalog(PROGRAM)
    workers, stop, errors = [Worker(pipeline, number) for number in range(threads + 1)], threading.Event(), []

    def work(worker: Worker) -> None:
        try:
            while not stop.is_set():
                worker.step()
        except BaseException as error:  # noqa: BLE001 - told at the end
            errors.append(repr(error))

    running = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers[1:]]
    for thread in running:
        thread.start()
    main, seen, after_commit, rng = workers[0], 0, 0, random.Random(0)
    while seen < interrupts and not errors:
        timer = threading.Timer(rng.uniform(0, 0.05), os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while True:
                main.step()
        except KeyboardInterrupt:
            seen += 1
        timer.join()
        after_commit += main.change is not None and main.change.is_committed
        main.settle()
        main.read()
    stop.set()
    for thread in running:
        thread.join()
    for worker in workers:
        worker.read()
    assert not errors, errors
    done = sum((worker.done for worker in workers), Counter[str]())
    print(seen, after_commit, pipeline.epoch, *(f"{done[k]}" for k in ("what if", "read", "look up")), sep="\t")


def main() -> None:
    """Run the child, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=10)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        child(options.interrupts, options.threads)
        return
    started = time.perf_counter()
    command = [sys.executable, __file__, "--child", "--interrupts", str(options.interrupts)]
    done = subprocess.run([*command, "--threads", str(options.threads)], stdout=subprocess.PIPE, text=True, check=True)
    header = ["interrupts", "after a commit", "epochs", "what-ifs", "reads", "look-ups", "other threads", "seconds"]
    row = [*done.stdout.split(), options.threads, f"{time.perf_counter() - started:.0f}"]
    notes = """\
SIGINT at random instants of at most 50 ms, to a main thread that commits, previews and reads beside other threads.
After each one the main thread's rows equal those of its last committed transaction; all reads of all threads found
views equal to their recomputation. after a commit: interrupts that were raised when the transaction was
committed already."""
    report("interrupts", "Interrupts beside other threads: no crash, no wrong state", header, [row], notes)


if __name__ == "__main__":
    main()
