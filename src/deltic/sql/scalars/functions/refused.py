"""Functions of Spark that a view cannot have, and what to do instead."""

_CHANGES = "its value changes from call to call; store the value in a column of a table when the row is inserted"
_NOW = "the time passes though no table changes; keep it in a table of one row, and update that"
_SESSION = "it depends on the session, not on tables; write the value as a literal"
_HASH = "use md5 or sha2, or compare the values themselves"

REFUSED: dict[str, str] = {
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"), _CHANGES),
    **dict.fromkeys(("monotonically_increasing_id", "spark_partition_id", "input_file_name"), _CHANGES),
    **dict.fromkeys(("now", "current_date", "curdate", "current_timestamp", "localtimestamp", "current_time"), _NOW),
    **dict.fromkeys(("current_user", "user", "session_user", "current_database", "current_schema"), _SESSION),
    **dict.fromkeys(("current_catalog", "current_timezone", "version"), _SESSION),
    **dict.fromkeys(("hash", "xxhash64"), _HASH),
    **dict.fromkeys(("assert_true", "raise_error"), "state the condition in WHERE"),
    **dict.fromkeys(("java_method", "reflect"), "compute the value before it is inserted"),
}
"""Names and remedies."""
