"""A dashboard of orders and payments with late data: `python examples/dashboard/dashboard.py`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import deltic

VIEWS = ("hourly", "open_orders", "best")


def at(hour: int, minute: int = 0) -> datetime:
    """A time of the day."""
    return datetime(2026, 5, 4, hour, minute, tzinfo=UTC)


def show(what: str, change: deltic.Transaction) -> None:
    """Print what an epoch changed, and which rows came too late to count."""
    print(f"\n{what}")
    for view in VIEWS:
        for row, weight in sorted(change.of(view), key=lambda each: (each[1], str(each[0]))):
            values = ", ".join(f"{value:%H:%M}" if isinstance(value, datetime) else str(value) for value in row)
            print(f"  {'+' if weight > 0 else '−'} {view}: {values}")
    for late in change.report.late:
        print(f"  left out, since they are late: {late.count} of {late.table}")


def main() -> None:
    """Let a morning pass."""
    pipeline = deltic.Pipeline()
    pipeline.sql(Path(__file__).with_name("dashboard.sql").read_text(encoding="utf-8"))
    with pipeline.transaction() as change:
        change.insert("orders", [(1, "ada", 20, at(9, 5)), (2, "bob", 5, at(9, 40)), (3, "cyd", 12, at(10, 10))])
        change.insert("payment", [(1, 20, at(9, 6))])
    show("the first orders", change)
    with pipeline.transaction() as change:
        change.insert("orders", [(4, "bob", 30, at(9, 55))])
        change.insert("payment", [(3, 2, at(10, 30))])
    show("an order of an hour that has passed, and a part of a payment", change)
    with pipeline.transaction() as change:
        change.insert("orders", [(5, "ada", 1, at(13))])
    show("noon has passed", change)
    with pipeline.transaction() as change:
        change.insert("orders", [(6, "cyd", 99, at(9, 30))])
    show("an order that is four hours late", change)
    print("\nwhich orders make ada one of the best")
    print(pipeline["best"].why(customer="ada"))
    show("ada cancels", pipeline.execute("DELETE FROM orders WHERE id = ?", [5]))


if __name__ == "__main__":
    main()
