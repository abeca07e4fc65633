"""Lookup and lowering of functions by name and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from deltic.errors import count_of, did_you_mean
from deltic.functions import names_in_sql
from deltic.sql.remedies import FAMILIES, REFUSED, of_function
from deltic.sql.scalars.functions import python
from deltic.sql.scalars.functions.definitions import DEFINED
from deltic.sql.scalars.functions.rules import RULES, counts, plain
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed

OF_THE_CLOCK: dict[str, str] = {
    **dict.fromkeys(("now", "current_timestamp"), ""),
    **dict.fromkeys(("current_date", "curdate"), "DATE"),
    "localtimestamp": "TIMESTAMP_NTZ",
    **dict.fromkeys(("current_time", "localtime"), "TIME"),
    "unix_timestamp": "BIGINT",
}
"""Functions that tell the time, with what its instant is cast to; a query has them in its clauses alone."""


class Unknown(Exception):
    """A function that is unknown or refused; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


def called(name: str, arguments: Sequence[Any]) -> Typed:
    """Return the value of a function for which no definition counts.

    Unknown where there is none of that name, Mismatch where it does not take these.
    """
    result = name.lower()
    if (own := python.function_called(result)) is not None:
        return python.applied(own, arguments)
    if (rule := RULES.get(result)) is not None:
        try:
            inspect.signature(rule).bind(*arguments)
        except TypeError:
            raise Mismatch(f"{result} does not take {count_of(len(arguments), 'argument')}") from None
        return rule(*arguments)
    entry = names_in_sql().get(result)
    if entry is not None and (result not in DEFINED or len(arguments) in counts(entry)):
        return plain(entry, arguments)
    if result in DEFINED:
        raise Mismatch(f"{result} does not take {count_of(len(arguments), 'argument')}")
    if result in OF_THE_CLOCK and not arguments:
        raise Unknown(f"{result} cannot stand here", "compute it in SELECT or WHERE of a subquery")
    remedy = REFUSED.get(result) or next((text for begin, text in FAMILIES.items() if result.startswith(begin)), "")
    if remedy:
        raise Unknown(f"the function {result} is not supported in a view", remedy)
    if (custom := python.operator_called(result)) is not None:
        given = ", ".join("TABLE(…)" for _ in custom.takes)
        raise Unknown(f"{custom.name} is an operator on relations", f"write it in FROM: {custom.name}({given})")
    raise Unknown(
        f"there is no function {result}", of_function(result) or did_you_mean(result, [*python.known(), *known()])
    )


def known() -> list[str]:
    """Return the names of all functions."""
    return sorted({*RULES, *DEFINED, *names_in_sql()} - {"array_concat"})
