"""Access rights with nested groups and denials: `python examples/access_rights/access_rights.py`."""

from __future__ import annotations

from pathlib import Path

import deltic


def changes(pipeline: deltic.Pipeline, what: str, statement: str) -> None:
    """Do a statement, and print how it changed who may do what."""
    change = pipeline.execute(statement)
    print(f"\n{what}")
    for row, weight in sorted(change.of("may")):
        print(f"  {'+' if weight > 0 else '−'} {row.who} may {row.what}")


def main() -> None:
    """Set up an organization, and change it."""
    pipeline = deltic.Pipeline()
    pipeline.sql(Path(__file__).with_name("access_rights.sql").read_text(encoding="utf-8"))
    with pipeline.transaction() as change:
        change.insert("person", [("ada",), ("bob",), ("cyd",), ("dan",)])
        change.insert("member", [("ada", "backend"), ("bob", "frontend"), ("dan", "frontend")])
        change.insert("member", [("backend", "engineers"), ("frontend", "engineers")])
        change.insert("permit", [("engineers", "read code"), ("backend", "deploy"), ("cyd", "read code")])
    print("at first")
    for row in sorted(pipeline["may"]):
        print(f"  {row.who} may {row.what}")
    changes(pipeline, "bob joins the team backend", "INSERT INTO member VALUES ('bob', 'backend')")
    changes(pipeline, "bob is denied to deploy", "INSERT INTO denial VALUES ('bob', 'deploy')")
    left = "DELETE FROM member WHERE who = 'backend'"
    changes(pipeline, "backend leaves engineers; bob is still there by frontend", left)
    changes(pipeline, "engineers are made a part of backend", "INSERT INTO member VALUES ('engineers', 'backend')")
    print("\nwhy dan may deploy")
    print(pipeline.why("may", ("dan", "deploy")))
    print("\nhow many people may")
    for row in sorted(pipeline.query("SELECT what, people FROM reach WHERE people > :least", {"least": 0})):
        print(f"  {row.what}: {row.people}")


if __name__ == "__main__":
    main()
