"""One picture: the time of each update against the time of recomputation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from deltic.demo.epochs import DemoEpoch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UPDATE, _RECOMPUTATION, _MUTED = "#1f6f8b", "#c8553d", "#777777"
_WHITE_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 2}
_CENTERED: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "color": _MUTED, "bbox": _WHITE_BOX}
_FEW_EPOCHS = 16
"""Up to this many epochs, each has its words and its ratio written at it."""


def draw_chart(
    epochs: Sequence[DemoEpoch], title: str, path: Path, recomputation: str = "recomputation from scratch"
) -> None:
    """Writes a PNG: epochs along, seconds up on a logarithmic scale; needs at least one edit."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    edits = [epoch for epoch in epochs if epoch.number]
    figure = Figure(figsize=(13, 6.8), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    _draw_times(axes, edits, recomputation)
    _label_epochs(axes, edits)
    _label_seconds(axes)
    axes.set_title(title, loc="left", fontsize=13, pad=12)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    figure.savefig(path)


def _draw_times(axes: Axes, edits: Sequence[DemoEpoch], label_of_recomputation: str) -> None:
    """Points for both times, joined by a line for each epoch: its length is the ratio."""
    measured = [(e.number, e.update, e.recomputation) for e in edits if e.recomputation is not None]
    for number, update, recomputation in measured:
        axes.plot([number, number], [update, recomputation], color="#dddddd", linewidth=2, zorder=1)
    axes.plot(
        [number for number, _, _ in measured],
        [recomputation for _, _, recomputation in measured],
        "s",
        color=_RECOMPUTATION,
        label=label_of_recomputation,
    )
    for label, marker, color, group in (
        ("update, edit of one file", "o", _UPDATE, [e for e in edits if e.files == 1]),
        ("update, edit of several files", "D", _UPDATE, [e for e in edits if e.files > 1]),
        ("update, no Python file touched", ".", _MUTED, [e for e in edits if e.files == 0]),
    ):
        if group:
            axes.plot([e.number for e in group], [e.update for e in group], marker, color=color, label=label)


def _label_epochs(axes: Axes, edits: Sequence[DemoEpoch]) -> None:
    axes.set_xlabel("epoch", color=_MUTED)
    axes.margins(x=0.04)
    if len(edits) > _FEW_EPOCHS:
        return
    words = [f"{e.number}\n{fill(e.words, 17)}" for e in edits]
    axes.set_xticks([e.number for e in edits], words, fontsize=7)
    for e in edits:
        if e.ratio is not None and e.recomputation is not None:
            middle = (e.update * e.recomputation) ** 0.5
            axes.text(e.number, middle, f"{e.ratio:,.0f}×", **_CENTERED)


def _label_seconds(axes: Axes) -> None:
    """A logarithmic axis with plain numbers, and room above the points for the legend."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms")
    axes.set_ylabel("time, logarithmic", color=_MUTED)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.12)
    axes.grid(axis="y", which="major", color="#eeeeee")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
