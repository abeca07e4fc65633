"""A statement that runs many times with other values: what `Pipeline.prepare` returns."""

from __future__ import annotations

from collections.abc import Callable

from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.sql.planning import check_preparable, keeps_plan
from deltic.sql.statements.parameters import Args


class PreparedStatement:
    """One statement of SQL; its plan is kept for values of the same types, see docs/transactions.md.

    `change` and `ask` are `execute` and `query` of the pipeline; `now` returns its definitions.
    """

    def __init__(
        self,
        text: str,
        file: str,
        change: Callable[[str, Args | None, str], Transaction],
        ask: Callable[[str, Args | None, str], Rows],
        now: Callable[[], Definitions],
    ) -> None:
        check_preparable(text, file)
        self.text, self._file, self._change, self._ask, self._now = text, file, change, ask, now

    def execute(self, args: Args | None = None) -> Transaction:
        """Change tables with these values: a list for `?`, a dict for `:name`. Raises what `Pipeline.execute` does."""
        return self._change(self.text, args, self._file)

    def query(self, args: Args | None = None) -> Rows:
        """Return the answer of a SELECT for these values. Raises what `Pipeline.query` does."""
        return self._ask(self.text, args, self._file)

    def keeps_plan(self, args: Args | None = None) -> bool:
        """Return whether the statement is planned once for all values of the types of these."""
        return keeps_plan(self.text, self._file, self._now(), args)

    def __repr__(self) -> str:
        return f"a prepared statement: {self.text}"
