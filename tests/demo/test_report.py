"""What is printed and drawn: catches numbers in the wrong place, and lines that do not fit."""

import io

import pytest
from rich.console import Console

from deltic.demo.chart import draw_chart
from deltic.demo.epochs import DemoEpoch, medians_of_small_edits
from deltic.demo.report import Report
from deltic.demo.verify import ViewDifference
from deltic.pipeline.epochs.report import RowCounts

VIEWS = {"affects": RowCounts(0, 1200), "dead": RowCounts(7, 1), "same": RowCounts(3, 0)}
EPOCHS = [
    DemoEpoch(0, "evaluate everything", 900, RowCounts(750_000, 0), {"affects": RowCounts(450_000, 0)}, 4.0),
    DemoEpoch(1, "remove f", 1, RowCounts(5, 39), VIEWS, 0.02, 5.0, ("a sentence",)),
    DemoEpoch(2, "put f back", 1, RowCounts(39, 5), {}, 0.05, 4.0),
    DemoEpoch(3, "not measured", 1, RowCounts(1, 0), {}, 10.0),
    DemoEpoch(4, "a long story about a package that is removed " * 3, 29, RowCounts(0, 6000), {}, 0.5, 4.0),
    DemoEpoch(5, "add g", 1, RowCounts(1, 0), {}, 0.01, 6.0),
]


def printed(width, epochs=EPOCHS, terminal=True):
    text = io.StringIO()
    report = Report(Console(file=text, width=width, force_terminal=terminal, color_system=None))
    report.header()
    for epoch in epochs:
        report.epoch(epoch)
    return text.getvalue().splitlines()


def test_a_row_has_the_edit_the_counts_the_times_and_their_ratio():
    lines = printed(118)
    row = next(line for line in lines if "remove f" in line)
    assert row.split() == ["1", "remove", "f", "+5", "−39", "+10", "−1,201", "20", "ms", "5.00", "s", "250×"]
    assert lines[lines.index(row) + 1].strip() == "affects −1,200  dead +7 −1  same +3"
    assert lines[lines.index(row) + 2].strip() == "→ a sentence"


def test_what_was_not_measured_is_left_blank():
    row = next(line for line in printed(118) if "not measured" in line)
    assert row.split() == ["3", "not", "measured", "+1", "0", "10.00", "s"]


@pytest.mark.parametrize("width", [60, 80, 100, 118, 200])
def test_no_line_is_wider_than_the_terminal(width):
    assert max(len(line) for line in printed(width)) <= width


def test_a_count_is_not_torn_from_its_view():
    views = {f"view{n}": RowCounts(1000 + n, 2000 + n) for n in range(20)}
    lines = printed(80, [DemoEpoch(1, "edit", 1, RowCounts(1, 0), views, 0.1)])
    assert all(f"view{n} +1,{n:03} −2,{n:03}" in " ".join(lines) for n in range(20))
    assert sum(f"view{n} +1,{n:03} −2,{n:03}" in line for n in range(20) for line in lines) == 20


def test_an_epoch_without_changes_has_no_ratio():
    """The update did nothing, so that it was no update that was faster."""
    nothing = DemoEpoch(1, "edit a comment", 1, RowCounts(0, 0), {}, 0.0005, 5.0)
    assert nothing.ratio is None
    assert "×" not in "".join(printed(118, [nothing]))
    assert medians_of_small_edits([*EPOCHS, nothing]) == medians_of_small_edits(EPOCHS)


def test_medians_are_those_of_measured_edits_of_one_file():
    medians = medians_of_small_edits(EPOCHS)
    assert (medians.edits, medians.update, medians.recomputation, medians.ratio) == (3, 0.02, 5.0, 250.0)
    assert medians_of_small_edits(EPOCHS[:1]) is None


def test_a_failed_check_names_the_view():
    text = io.StringIO()
    Report(Console(file=text, width=118)).differences([ViewDifference("dead", 2, 1, ("a:f", "a"))])
    assert "FAILED" in text.getvalue()
    assert "dead: 2 rows missing, 1 too many" in text.getvalue()


@pytest.mark.parametrize("epochs", [EPOCHS, EPOCHS[:2], [EPOCHS[0], EPOCHS[3]], EPOCHS * 8])
def test_the_chart_is_a_picture_for_any_number_of_epochs(tmp_path, epochs):
    draw_chart(epochs, "title", tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
