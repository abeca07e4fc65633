"""Settings of Spark's SQL: those whose value is how Deltic computes may be set to it; others are refused."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from deltic.engine.batches import TableBatch
from deltic.errors import did_you_mean
from deltic.pipeline.definitions.evolution import Evolution
from deltic.pipeline.reading.rows import Rows
from deltic.sql.statements.statements import Setting

_ZONES = ("UTC", "ETC/UTC", "Z", "+00:00", "+0:00", "GMT", "INTERVAL 0 HOURS", "INTERVAL '0' HOUR")
_FIXED: Mapping[str, tuple[str, str]] = {
    "spark.sql.session.timezone": ("UTC", "to_timestamp, date_format and from_utc_timestamp convert"),
    "spark.sql.ansi.enabled": ("true", "try_cast, try_divide and the like give NULL for an error"),
    "spark.sql.casesensitive": ("false", "give columns names that differ by more than case"),
    "spark.sql.storeassignmentpolicy": ("ANSI", "write CAST"),
    "spark.sql.groupbyordinal": ("true", ""),
    "spark.sql.orderbyordinal": ("true", ""),
    "spark.sql.groupbyaliases": ("true", ""),
    "spark.sql.mapkeydeduppolicy": ("EXCEPTION", "remove keys that occur twice"),
    "spark.sql.timestamptype": ("TIMESTAMP_LTZ", "name TIMESTAMP_NTZ where it is meant"),
    "spark.sql.legacy.timeparserpolicy": ("CORRECTED", ""),
    "spark.sql.parser.quotedregexcolumnnames": ("false", "name the columns, or write * EXCEPT (…)"),
}
"""Values by key in lower case, with the remedy for those who need another one."""
_SPEED = (
    "adaptive",
    "shuffle",
    "autobroadcastjointhreshold",
    "files",
    "cbo",
    "optimizer",
    "join",
    "codegen",
    "inmemorycolumnarstorage",
)
"""What decides how fast Spark is: any value is taken, and has no effect."""


def settings(statement: Setting, nothing: Evolution) -> Evolution | Rows:
    """What SET or RESET gives. Raises ProgramError for a setting or value that there is not."""
    key = "spark.sql.session.timezone" if statement.key.lower() == "timezone" else statement.key.lower()
    if statement.is_reset and not key:
        return nothing
    if not key:
        return _rows({name: value for name, (value, _) in _FIXED.items()})
    if key.removeprefix("spark.sql.").split(".")[0] in _SPEED and key.startswith("spark.sql."):
        return nothing if statement.is_reset else _rows({statement.key: statement.value or "<undefined>"})
    if key not in _FIXED:
        hint = did_you_mean(key, _FIXED) or "options are those of deltic.Pipeline(…); SET lists settings of SQL"
        if key.isidentifier() and statement.value:
            hint = f"to set a variable, write SET VAR {statement.key} = …"
        raise statement.error(f"there is no setting {statement.key} here", hint)
    value, remedy = _FIXED[key]
    if statement.is_reset:
        return nothing
    given = statement.value
    allowed = _ZONES if value == "UTC" else (value.upper(),)
    if given is not None and given.upper() not in allowed:
        raise statement.error(f"{statement.key} is {value} here, and cannot be {given}", remedy or "leave it out")
    return _rows({statement.key: value if given is None else given})


def _rows(values: Mapping[str, str]) -> Rows:
    return Rows(TableBatch(pa.table({"key": list(values), "value": list(values.values())})))
