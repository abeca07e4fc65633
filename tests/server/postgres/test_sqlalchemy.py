"""SQLAlchemy against the server: definitions, reflection, the ORM, counts of rows.

Catches a question about the catalog that has no answer, and a count that SQLAlchemy takes for a lost row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.server.postgres.conftest import Running


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True, autoincrement=False)
    owner: Mapped[str | None]
    amount: Mapped[Decimal] = mapped_column(sa.Numeric(10, 2))
    since: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))


@pytest.fixture
def engine(running: Running) -> Iterator[sa.Engine]:
    engine = sa.create_engine(f"postgresql+psycopg://ada@127.0.0.1:{running.port}/deltic")
    yield engine
    engine.dispose()


def test_reflection(engine: sa.Engine) -> None:
    Base.metadata.create_all(engine)
    seen = sa.inspect(engine)
    assert set(seen.get_table_names()) == {"items", "accounts"}
    assert seen.get_view_names() == ["names"]
    assert [(column["name"], str(column["type"]), column["nullable"]) for column in seen.get_columns("accounts")] == [
        ("id", "BIGINT", False),
        ("owner", "TEXT", True),
        ("amount", "NUMERIC(10, 2)", False),
        ("since", "TIMESTAMP", True),
    ]
    assert seen.get_pk_constraint("accounts")["constrained_columns"] == ["id"]
    for ask in (seen.get_indexes, seen.get_foreign_keys, seen.get_unique_constraints, seen.get_check_constraints):
        assert ask("accounts") == []
    assert seen.has_table("names")
    assert seen.get_view_definition("names") == "SELECT name, count(*) AS n FROM items GROUP BY name"
    reflected = sa.MetaData()
    reflected.reflect(engine, views=True)
    assert set(reflected.tables) == {"items", "accounts", "names"}


def test_the_orm(engine: sa.Engine) -> None:
    Base.metadata.create_all(engine)
    since = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)
    with Session(engine) as session:
        session.add_all([Account(id=n, owner=f"o{n % 2}", amount=Decimal(n), since=since) for n in range(6)])
        session.commit()
        for account in session.scalars(sa.select(Account).where(Account.owner == "o1")):
            account.amount += 1
        session.flush()
        assert session.scalar(sa.select(sa.func.sum(Account.amount))) == Decimal("18.00")
        session.delete(session.get(Account, 0))
        session.commit()
        assert session.get(Account, 3).amount == Decimal("4.00")
        assert session.get(Account, 3).since == since
        assert session.execute(sa.update(Account).values(owner="z").where(Account.id > 3)).rowcount == 2
        session.rollback()
        assert session.get(Account, 5).owner == "o1"
    Base.metadata.drop_all(engine)
    assert "accounts" not in sa.inspect(engine).get_table_names()
