"""External sources of tables and targets of views."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from deltic.errors import CatalogError, did_you_mean
from deltic.passwords import hidden

Role = Literal["source", "target"]


@dataclass(frozen=True)
class _Kind:
    """The required options of a kind, and its options as a source and as a target; None where it cannot be one."""

    needed: tuple[str, ...]
    source: tuple[str, ...] | None = ()
    target: tuple[str, ...] | None = None

    def options(self, role: Role) -> tuple[str, ...] | None:
        """Return all options of a role."""
        own = self.source if role == "source" else self.target
        return None if own is None else (*self.needed, *own)


JDBC = ("driver", "user", "password", "fetchsize", "partitionColumn", "lowerBound", "upperBound", "numPartitions")
"""Options of `jdbc:` addresses, by the names of Spark's reader."""
KINDS: Mapping[str, _Kind] = {
    "parquet": _Kind(("path",), source=("coerce", "new_columns"), target=("by", "rows")),
    "csv": _Kind(("path",), source=("delimiter", "headers", "rfc4180", "coerce", "new_columns")),
    "json": _Kind(("path",), source=("coerce", "new_columns")),
    "arrow": _Kind(("path",), source=("coerce", "new_columns")),
    "delta": _Kind(("path",), source=("coerce", "new_columns"), target=("by", "rows")),
    "merge_on_read": _Kind(("path",), source=None, target=()),
    "iceberg": _Kind(("table",), source=("catalog", "uri", "warehouse", "coerce", "new_columns")),
    "database": _Kind(
        ("url", "table"),
        source=("changed", "slot", *JDBC, "coerce", "external_access", "new_columns"),
        target=("key", "external_access"),
    ),
    "spark": _Kind(("table",), source=("changed", "coerce", "new_columns"), target=()),
    "dataframe": _Kind((), source=("changed", "coerce", "new_columns")),
}
_VARIABLE = re.compile(r"\$\{\w+\}")
_NEW_COLUMNS = ("ignore", "add", "refuse")
_SETTINGS = ("delimiter", "headers", "rfc4180", "coerce", "new_columns", "external_access")
"""Options that do not say where rows are, so that texts leave them out."""


@dataclass(frozen=True, init=False)
class External:
    """An external source or target, by its kind and options: `External("parquet", path="/data/orders")`.

    docs/refresh.md has the kinds and their options. Options are stored as texts, without passwords
    (`deltic.passwords`); lists are texts with commas. Raises CatalogError for an unknown kind or option, and for a
    missing option.
    """

    kind: str
    options: tuple[tuple[str, str], ...]

    def __init__(self, kind: str, /, **options: Any) -> None:
        if kind == "jdbc":
            kind, options = "database", {"table" if name == "dbtable" else name: options[name] for name in options}
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS) or f"the kinds are {', '.join(KINDS)}"
            raise CatalogError(f"there is no kind {kind!r} of external rows; {hint}")
        options = _as_spark_says(options) if kind == "csv" else options
        known = KINDS[kind]
        names = list(dict.fromkeys([*known.needed, *(known.source or ()), *(known.target or ())]))
        spelt = {name.lower(): name for name in names}
        options = {spelt.get(name.lower(), name): value for name, value in options.items()}
        for name in options:
            if name not in names:
                hint = did_you_mean(name, names) or f"the options are {', '.join(names) or 'none'}"
                raise CatalogError(f"{kind}: there is no option {name!r}; {hint}")
        for name in known.needed:
            if name not in options:
                raise CatalogError(f"{kind}: the option {name} is missing")
        if kind == "database":
            _check_address(options)
        if (choice := options.get("new_columns", "ignore")) not in _NEW_COLUMNS:
            raise CatalogError(f"{kind}: new_columns is one of {', '.join(_NEW_COLUMNS)}, found {choice!r}")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(
            self, "options", tuple((name, hidden(_text(options[name]))) for name in names if name in options)
        )

    def __getitem__(self, option: str) -> str:
        return dict(self.options)[option]

    def get(self, option: str, otherwise: str = "") -> str:
        """Return the value of an option, or the default."""
        return dict(self.options).get(option, otherwise)

    def with_option(self, option: str, value: Any) -> External:
        """Return the same place with another option."""
        return External(self.kind, **{**dict(self.options), option: value})

    def is_on(self, option: str) -> bool:
        """Return the value of a Boolean option; raises CatalogError for other values."""
        value = self.get(option, "false").lower()
        if value not in ("true", "false"):
            raise CatalogError(f"{self.kind}: the option {option} is true or false, found {value!r}")
        return value == "true"

    def listed(self, option: str) -> tuple[str, ...]:
        """Return the names in an option that is a comma-separated list."""
        return tuple(part.strip() for part in self.get(option).split(",") if part.strip())

    def number(self, option: str, otherwise: int) -> int:
        """Return the value of an option that is a number from 1 on; raises CatalogError for others."""
        value = self.get(option, str(otherwise))
        if not (value.isascii() and value.isdigit() and int(value)):
            raise CatalogError(f"{self.kind}: the option {option} is a number from 1 on, found {value!r}")
        return int(value)

    def check(self, role: Role) -> None:
        """Raise CatalogError for a kind or option that sources or targets do not have."""
        known = KINDS[self.kind].options(role)
        if known is None:
            kinds = ", ".join(kind for kind, result in KINDS.items() if result.options(role) is not None)
            raise CatalogError(f"{self.kind} is no {role}; the kinds of {role}s are {kinds}")
        for name, _ in self.options:
            if name not in known:
                raise CatalogError(f"{self.kind}: {name} is no option of a {role}; they are {', '.join(known)}")

    def __repr__(self) -> str:
        options = [repr(self.kind), *(f"{name}={value!r}" for name, value in self.options)]
        return f"External({', '.join(options)})"

    def __str__(self) -> str:
        return " ".join([self.kind, *(value for name, value in self.options if name not in _SETTINGS)])


def _check_address(options: Mapping[str, Any]) -> None:
    """Raise CatalogError for an address that Spark misreads, options that its reader lacks, and a literal password."""
    url = str(options["url"])
    given = [name for name in JDBC if name in options]
    if given and not url.startswith("jdbc:"):
        raise CatalogError(f"database: {given[0]} is an option of jdbc: addresses; this one is {url}")
    if "slot" in options and not url.startswith("postgresql:"):
        raise CatalogError(f"database: slot is an option of postgresql:// addresses; this one is {url}")
    if "slot" in options and "changed" in options:
        raise CatalogError("database: write slot or changed: a replication slot needs no change column")
    if url.startswith("jdbc:mariadb:"):
        raise CatalogError(
            "Spark reads wrong rows from jdbc:mariadb: addresses, because it quotes names as MariaDB quotes texts; "
            "write jdbc:mysql://…, with ?permitMysqlScheme for the driver org.mariadb.jdbc.Driver"
        )
    if not _VARIABLE.fullmatch(str(options.get("password", "${_}"))):
        raise CatalogError("database: write the password as a variable of the environment, as in '${SHOP_PASSWORD}'")


def _as_spark_says(options: Mapping[str, Any]) -> dict[str, Any]:
    """Translate Spark's options of delimited text: `header`, `sep`, `quote`, `inferSchema`.

    With `header`, fields may be quoted, as in Spark.
    """
    result = {**options}
    spark = {name.lower(): name for name in options if name.lower() in ("header", "sep", "quote", "inferschema")}
    values = {name: result.pop(own) for name, own in spark.items()}
    if "header" in values:
        result = {"headers": values["header"], "rfc4180": True, **result}
    if "sep" in values:
        result["delimiter"] = values["sep"]
    if "quote" in values:
        if values["quote"] not in ("", '"'):
            raise CatalogError(f'csv: fields are in quotes `"` or in none, found the quote {values["quote"]!r}')
        result["rfc4180"] = bool(values["quote"])
    return result


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
