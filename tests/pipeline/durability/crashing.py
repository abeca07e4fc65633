"""Pipelines that are killed, and go on: `python -m tests.pipeline.durability.crashing --kills 1000`.

A run is a sequence of steps, each a function of its number: a transaction, now and then another definition, a
checkpoint or a compaction. A process does steps and says which are done; it is killed at a random instant, or as one of
its calls to the disk is made, and another one goes on where it finds the state. What must hold: it finds all steps that
were acknowledged, and at most the one that was under way; all tables and views are what these steps make of them.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from deltic.engine.files import local
from deltic.errors import DelticError
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.options import Durability, Resources
from deltic.pipeline.session import Pipeline

PROGRAM = """
.decl e(x: symbol, y: symbol)
.input e
.decl p(x: symbol, y: symbol)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""
CHECKPOINTS = Durability(epochs=4, keep=2)
NODES = [f"node {n}" for n in range(9)]


def pairs_of(step, present):
    """The pairs that a step inserts, and those that it deletes."""
    rng = random.Random(step)
    drawn = {(rng.choice(NODES), rng.choice(NODES)) for _ in range(rng.choice((1, 1, 3)))}
    return sorted(drawn - present), sorted(drawn & present)


def present_after(step):
    present = set()
    for each in range(1, step + 1):
        inserted, deleted = pairs_of(each, present)
        present = (present | set(inserted)) - set(deleted)
    return present


def closure(pairs):
    found = set(pairs)
    while True:
        more = found | {(x, z) for x, y in found for y2, z in pairs if y == y2}
        if more == found:
            return found
        found = more


def degrees(variant):
    return f"CREATE OR REPLACE VIEW degrees AS SELECT x, count(*) + {variant} AS n, max(y) AS m FROM e GROUP BY x"


def expected(step, variant):
    pairs = present_after(step)
    views = {"e": pairs, "p": closure(pairs)}
    if variant is not None:
        counts, last = Counter(x for x, _ in pairs), {}
        for x, y in pairs:
            last[x] = max(y, last.get(x, ""))
        views["degrees"] = {(x, n + variant, last[x]) for x, n in counts.items()}
    return views


def found(pipeline):
    """The last step that the pipeline has, the variant of its view, and what it holds."""
    step = pipeline.positions.get("step", 0)
    text = pipeline.catalog.views["degrees"].text if "degrees" in pipeline else ""
    variant = int(text.partition("count(*) + ")[2].partition(" ")[0]) if text else None
    contents = {name: {tuple(row.values()) for row in pipeline[name].to_arrow().to_pylist()} for name in pipeline}
    return step, variant, contents


def check(pipeline, acknowledged):
    """Raises AssertionError unless the pipeline has the steps that were acknowledged, and at most one more."""
    if not list(pipeline):
        assert acknowledged == 0, f"nothing is there of {acknowledged} steps"
        return 0
    step, variant, contents = found(pipeline)
    assert acknowledged <= step <= acknowledged + 1, f"step {step} is there, acknowledged is {acknowledged}"
    allowed = {step // 5 * 5 or None} | ({step + 1} if (step + 1) % 5 == 0 else set())
    assert variant in allowed, f"variant {variant} after step {step}"
    assert contents == expected(step, variant), f"after step {step}"
    return step


def act(pipeline, step, insert=Transaction.insert):
    """Do one step."""
    if "e" not in pipeline:
        pipeline.datalog(PROGRAM)
    if step % 5 == 0:
        pipeline.sql(degrees(step))
    inserted, deleted = pairs_of(step, present_after(step - 1))
    with pipeline.transaction(positions={"step": step}) as change:
        insert(change, "e", inserted)
        change.delete("e", deleted)


def after(pipeline, step):
    """What comes between two steps, and changes nothing."""
    if step % 7 == 0:
        pipeline.checkpoint()
    if step % 11 == 0:
        pipeline.compact()


class Killed(BaseException):
    """The process is no more."""


class Faulty(local.SystemCalls):
    """A disk that fails at one of its calls.

    `how`: with an error ("full", "broken"), the process with it ("killed", in the middle of a write "torn"), or the
    power: then what was not synced is lost, or a part of it. Calls of threads come one after the other, so that none is
    under way when that happens.
    """

    def __init__(self, at, how, rng=None, real=False):
        self.at, self.how, self.calls, self.dead = at, how, 0, False
        self.rng, self.real = rng or random.Random(at), real
        self.unsynced, self.renamed = {}, []
        self.one = threading.Lock()

    def _reached(self, name, file=None, data=None):
        if self.dead:
            raise Killed
        self.calls += 1
        if self.calls != self.at:
            return
        if self.how in ("full", "broken"):
            raise OSError(errno.ENOSPC if self.how == "full" else errno.EIO, os.strerror(errno.ENOSPC))
        if data is not None and self.how in ("torn", "power"):
            os.write(file, data[: self.rng.randrange(len(data) + 1)])
        if self.real:
            os.kill(os.getpid(), signal.SIGKILL)
        self.dead = True
        if self.how == "power":
            self._lose_power()
        raise Killed

    def _lose_power(self):
        for old, new in reversed(self.renamed):
            if new.exists() and self.rng.random() < 0.7:
                new.rename(old)
        for file, synced in self.unsynced.values():
            size = os.fstat(file).st_size
            if size > synced:
                os.ftruncate(file, self.rng.randint(synced, size))

    def write(self, file, data):
        about = os.fstat(file)
        with self.one:
            self._reached("write", file, data)
            if about.st_ino not in self.unsynced:
                self.unsynced[about.st_ino] = os.dup(file), about.st_size
            return super().write(file, data)

    def sync(self, file):
        name = os.readlink(f"/proc/self/fd/{file}")
        with self.one:
            self._reached("sync")
            super().sync(file)
            kept = self.unsynced.pop(os.fstat(file).st_ino, None)
            if kept is not None:
                os.close(kept[0])
            self.renamed = [pair for pair in self.renamed if str(pair[1].parent) != name]

    def rename(self, old, new):
        with self.one:
            self._reached("rename")
            super().rename(old, new)
            self.renamed.append((Path(old), Path(new)))

    def truncate(self, file, size):
        with self.one:
            self._reached("truncate")
            super().truncate(file, size)

    def unlink(self, path):
        with self.one:
            self._reached("unlink")
            super().unlink(path)


@contextlib.contextmanager
def disk(system):
    """Let files be on this disk."""
    made = local.SystemCalls
    local.SystemCalls = lambda: system
    try:
        yield system
    finally:
        local.SystemCalls = made


# Processes


def work(place, steps, told, system):
    """Go on with the steps, and tell each that is done; checks what is found first."""
    with disk(system):
        pipeline = Pipeline(state=place, durability=CHECKPOINTS, resources=Resources(threads=1))
        done = check(pipeline, steps[0])
        os.write(told, struct.pack("<q", -1 - done))
        for step in range(done + 1, steps[1] + 1):
            act(pipeline, step)
            os.write(told, struct.pack("<q", step))
            after(pipeline, step)
        pipeline.close()


def run_child(place, steps, system, delay):
    """Steps in a process that is killed after so many seconds, or by its disk: what it told, its status."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            work(place, steps, writing, system)
            status = 0
        except BaseException as error:  # noqa: BLE001
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)
    os.close(writing)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return [value for (value,) in struct.iter_unpack("<q", data[: len(data) // 8 * 8])], status


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, kinds, started = random.Random(arguments.seed), Counter(), time.time()
    warm_up()
    folder = Path(tempfile.mkdtemp(prefix="deltic-crashes-"))
    place, acknowledged, kills, runs, steps = folder / "state 0", 0, 0, 1, 0
    while kills < arguments.kills:
        how = rng.choice(("instant", "instant", "killed", "torn"))
        at = 0 if how == "instant" else rng.randrange(1, 150)
        delay = rng.uniform(0.005, 0.6) if how == "instant" else None
        told, status = run_child(place, (acknowledged, acknowledged + 60), Faulty(at, how, rng, real=True), delay)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            sys.exit(f"after {kills} kills: wrong, see {place}; seed {arguments.seed}")
        steps += sum(value > 0 for value in told)
        acknowledged = max([acknowledged, *(v if v >= 0 else -1 - v for v in told)])
        if os.WIFSIGNALED(status):
            kills += 1
            kinds[how] += 1
        if acknowledged > 60 or rng.random() < 0.05:
            shutil.rmtree(place)
            place, acknowledged, runs = folder / f"state {runs}", 0, runs + 1
    shutil.rmtree(folder)
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    seconds = time.time() - started
    sys.stdout.write(
        f"{kills:,} kills ({told}), {runs:,} directories, {steps:,} acknowledged steps, {seconds:.0f} s:\n"
        "every restart found them all, at most the one that was under way, and nothing else\n"
    )


def warm_up():
    """Load what a pipeline loads, so that processes that are forked need not; no thread is left."""
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(state=f"{folder}/state", resources=Resources(threads=1))
        with contextlib.suppress(DelticError):
            for step in range(1, 12):
                act(pipeline, step)
                after(pipeline, step)
                check(pipeline, step)
        pipeline.close()


if __name__ == "__main__":
    main()
