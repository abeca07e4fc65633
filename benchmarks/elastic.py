"""The evaluation of paper 3 on Galen, CRDT and a points-to analysis: updates by size (Fig. 5), workloads (Fig. 6) and
memory (Table 2).

`python benchmarks/elastic.py` deletes random sets of input rows and puts them back, under each strategy; then runs the
workloads of 13 epochs under each policy. Each strategy and each policy has a fresh process. The options restrict it,
and the results say to what. `--sizes 10,100,1000,10000,40000:2,70000:2,100000:2` has larger sets, too, two of each.
The points-to analysis is of generated programs of `--methods` methods, in the place of Doop's of Java. `rediscovery.py`
has the ablation of [ELA §4.2].
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import report
from isolated import GIB, Outcome, isolated
from points_to import points_to
from problems import CRDT, GALEN
from replay import Epoch, replay, spread, updates, workload

PROBLEMS = {"galen": GALEN, "crdt": CRDT, "points-to": points_to(0)}
SIZES = {
    "galen": [10, 100, 1_000, 10_000],
    "crdt": [10, 40, 70, 100, 1_000, 10_000],
    "points-to": [10, 100, 400, 700, 1_000],
}
LARGE = {"galen": 10_000, "crdt": 1_000, "points-to": 1_000}
METHODS = 20_000
SMALL = 10
EPOCHS = 13
# Strategy and policy of each column.
STRATEGIES = {
    "nested": ("nested", "incremental"),
    "elastic": ("elastic", "incremental"),
    "full": ("full", "full"),
    "auto": ("nested", "auto"),
    "plain": ("nested", "plain"),
}
POLICIES = {
    "auto": ("nested", "auto"),
    "plain": ("nested", "plain"),
    "incremental": ("nested", "incremental"),
    "elastic, auto": ("elastic", "auto"),
    "elastic, plain": ("elastic", "plain"),
    "elastic, incremental": ("elastic", "incremental"),
    "full": ("full", "full"),
}
ABOUT_UPDATES = """\
Seconds of an epoch: median (least–greatest) of {seeds} random sets of input rows. nested, elastic: always updated.
full, the line to beat: always computed anew, measured on one set of {first} rows deleted and put back. auto: nested,
but computed anew where that seems quicker; *n: in n of the epochs a recursion was. plain: nested, but computed anew
where an update took a fifth of the last bootstrap, the paper's heuristic. rows changed: of the outputs. state: all runs
of the engine, after each of the epochs but the first: least, mean and greatest, as in Table 2. peak: of a fresh process
for each column, its input tables in Arrow included."""
ABOUT_WORKLOADS = """\
Seconds of an epoch; -n: n random rows of the input are deleted, +n: put back. auto, plain and incremental keep nested
counts, the next three elastic ones; "elastic, plain" is the paper's own combination. *: a recursion was computed anew.
The ratio is auto's total to the lesser of incremental's and full's; the target is 1.3 at most.
full: {full} of 13 epochs measured, in the total the others take the mean of those after the first."""


def compare_updates(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Fig. 5 and Table 2."""
    sizes = sizes_of(name, options)
    runs = {}
    for label in options.strategies or STRATEGIES:
        strategy, policy = STRATEGIES[label]
        steps = updates({min(sizes): 1} if label == "full" else sizes)
        runs[label] = isolated(replay, PROBLEMS[name], folder, strategy, policy, steps, seconds=options.limit)
    rows: list[list[object]] = [["initial", "", "", *(seconds(run.values[:1]) for run in runs.values())]]
    for size in sizes:
        rows += [by_size(runs, size, weight) for weight in (-1, 1)]
    rows.append(["peak resident GiB", "", "", *(f"{run.peak / GIB:.2f}" for run in runs.values())])
    rows.append(["state MiB", "", "", *(memory(run.values) for run in runs.values())])
    notes = ABOUT_UPDATES.format(seeds=max(sizes.values()), first=min(sizes))
    header = ["rows", "", "rows changed", *(f"{label} s" for label in runs)]
    title = f"{name}: updates by size [ELA Fig. 5, Table 2]"
    report(f"elastic-{name}", title, header, rows, f"{notes}\n{restricted(name, options)}{unfinished(runs)}")


def sizes_of(name: str, options: argparse.Namespace) -> dict[int, int]:
    """How many random sets there are of each size."""
    return {size: seeds or options.seeds for size, seeds in (options.sizes or [(size, 0) for size in SIZES[name]])}


def by_size(runs: Mapping[str, Outcome], size: int, weight: int) -> list[object]:
    """The row of the table for one size and direction."""
    found = {label: [e for e in run.values[1:] if like(e, size, weight)] for label, run in runs.items()}
    changed = [e.changed for label, epochs in found.items() if label != "full" for e in epochs]
    if "full" in runs:
        found["full"] = runs["full"].values[1:]
    between = f"{min(changed):,}–{max(changed):,}" if changed else "-"
    return [f"{size:,}", "delete" if weight < 0 else "put back", between, *map(seconds, found.values())]


def like(epoch: Epoch, size: int, weight: int) -> bool:
    """Whether the epoch deleted, or put back, so many rows."""
    return epoch.step is not None and (epoch.step.size, epoch.step.weight) == (size, weight)


def seconds(epochs: Sequence[Epoch]) -> str:
    """The seconds of like epochs, and in how many a recursion was computed anew."""
    anew = sum(e.anew > 0 for e in epochs if e.step)
    return spread([e.seconds for e in epochs], 3) + (f" *{anew}" if anew else "")


def memory(epochs: Sequence[Epoch]) -> str:
    """The least, mean and greatest MiB of state after an update, as Table 2 has them."""
    found = [epoch.state * 1024 / GIB for epoch in epochs if epoch.step]
    return f"{min(found):,.0f} {statistics.mean(found):,.0f} {max(found):,.0f}" if found else "-"


def compare_workloads(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Fig. 6."""
    steps = workload(SMALL, options.large or LARGE[name])
    runs = {}
    for label in options.policies or POLICIES:
        strategy, policy = POLICIES[label]
        some = steps[: options.full_epochs - 1] if label == "full" else steps
        runs[label] = isolated(replay, PROBLEMS[name], folder, strategy, policy, some, seconds=options.limit)
    rows: list[list[object]] = [
        [i + 1, f"{step.weight * step.size:+,}" if step else "initial", *(at(run, i) for run in runs.values())]
        for i, step in enumerate([None, *steps])
    ]
    totals = {label: total(run, label == "full") for label, run in runs.items()}
    rows.append(["total", "", *(f"{t:.2f}" for t in totals.values())])
    rows.append(["auto : better", "", *(ratio(totals, label) for label in runs)])
    notes = ABOUT_WORKLOADS.format(full=min(options.full_epochs, EPOCHS))
    title = f"{name}: a workload of 13 epochs [ELA Fig. 6]"
    report(f"workload-{name}", title, ["epoch", "rows", *runs], rows, notes + unfinished(runs))


def at(run: Outcome, index: int) -> str:
    """One epoch of a workload."""
    if index >= len(run.values):
        return "-"
    epoch: Epoch = run.values[index]
    return f"{'*' if epoch.anew and epoch.step else ''}{epoch.seconds:.3f}"


def total(run: Outcome, is_uniform: bool) -> float:
    """The seconds of a whole workload; NaN when it did not finish."""
    measured: list[float] = [epoch.seconds for epoch in run.values]
    missing = EPOCHS - len(measured)
    if missing and (not is_uniform or len(measured) < 2):
        return float("nan")
    return sum(measured) + (missing * statistics.mean(measured[1:]) if missing else 0.0)


def ratio(totals: Mapping[str, float], label: str) -> str:
    """For a column of auto: its total by that of the better policy, where they were measured."""
    if "auto" not in label:
        return ""
    others = [totals.get(label.replace("auto", "incremental")), totals.get("full")]
    measured = [other for other in others if other is not None and other == other]
    return f"{totals[label] / min(measured):.2f}" if measured else "-"


def restricted(name: str, options: argparse.Namespace) -> str:
    """How far this run is from the whole evaluation."""
    sizes = sizes_of(name, options)
    few = [f"{seeds} random sets of {size:,} rows" for size, seeds in sizes.items() if seeds < 5]
    missing = [
        f"{size:,}"
        for size in [*SIZES[name], *([40_000, 70_000, 100_000] if name == "galen" else [])]
        if size not in sizes
    ]
    found = [*few, *([f"no sets of {', '.join(missing)} rows"] if missing else [])]
    return f"Less than 5 random sets of each size: {'; '.join(found)}." if found else "The complete run."


def unfinished(runs: Mapping[str, Outcome]) -> str:
    """What the runs that did not finish must say."""
    return "".join(f"\nNOT FINISHED: {label}: {run.failure}" for label, run in runs.items() if run.failure)


def sized(text: str) -> list[tuple[int, int]]:
    """Sizes, each with the number of its random sets where that is said, else 0."""
    pairs = [size.partition(":") for size in text.split(",")]
    return [(int(size), int(seeds or 0)) for size, _, seeds in pairs]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=[*PROBLEMS], action="append")
    parser.add_argument("--only", choices=["updates", "workloads"])
    parser.add_argument("--strategies", choices=[*STRATEGIES], nargs="+")
    parser.add_argument("--policies", choices=[*POLICIES], nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=sized)
    parser.add_argument("--large", type=int, help="rows of the large updates of a workload")
    parser.add_argument("--full-epochs", type=int, default=EPOCHS, help="epochs of a workload measured under `full`")
    parser.add_argument("--methods", type=int, default=METHODS, help="of the program that the points-to analysis is of")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for each column")
    options = parser.parse_args()
    PROBLEMS["points-to"] = points_to(options.methods)
    for chosen in options.data or PROBLEMS:
        with tempfile.TemporaryDirectory() as unpacked:
            PROBLEMS[chosen].unpack(Path(unpacked))
            if options.only != "workloads":
                compare_updates(chosen, Path(unpacked), options)
            if options.only != "updates":
                compare_workloads(chosen, Path(unpacked), options)
