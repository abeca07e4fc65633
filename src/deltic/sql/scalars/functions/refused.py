"""Functions of Spark that views cannot have, with alternatives; and those that only certain clauses can have."""

from deltic.sql.collations import HINT

_CHANGES = "its value changes from call to call; store it in a column when the row is inserted"
_SESSION = "it depends on the session, not on tables; write the value as a literal"
_VARIANT = "keep JSON as a STRING, and read it where it is parsed: variant_get(parse_json(text), '$.a[0]', 'INT')"
_CALENDAR = (
    "it may be added to a time, ts + make_interval(0, 1, 0, 2), or to a DATE by years to days; elsewhere use "
    "make_ym_interval(years, months) or make_dt_interval(days, …)"
)
_XPATHS = (
    "xpath",
    *(f"xpath_{type_}" for type_ in ("boolean", "double", "float", "int", "long", "number", "short", "string")),
)
_XML = ("from_xml", "to_xml", "schema_of_xml")

REFUSED: dict[str, str] = {
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"), _CHANGES),
    **dict.fromkeys(("monotonically_increasing_id", "spark_partition_id", "input_file_name"), _CHANGES),
    "counter_diff": "write CASE WHEN x >= lag(x) OVER (…) THEN x - lag(x) OVER (…) END",
    "unix_nanos": "write unix_micros(time) * 1000",
    **dict.fromkeys(("current_user", "user", "session_user"), _SESSION),
    "current_path": _SESSION,
    "version": _SESSION,
    **dict.fromkeys(("parse_json", "try_parse_json", "variant_get", "try_variant_get", "is_variant_null"), _VARIANT),
    **dict.fromkeys(("schema_of_variant", "to_variant_object"), _VARIANT),
    **dict.fromkeys(("make_interval", "try_make_interval"), _CALENDAR),
    "collations": HINT,
    **dict.fromkeys(("java_method", "reflect", "try_reflect"), "compute the value before it is inserted"),
    **dict.fromkeys(("aes_encrypt", "aes_decrypt", "try_aes_decrypt"), "encrypt values before they are inserted"),
    **dict.fromkeys(_XPATHS, "keep the values in columns of their own, or as JSON for get_json_object"),
    **dict.fromkeys(_XML, "keep JSON as a STRING, and use from_json and to_json"),
    "sentences": "split(text, '[.!?] *') gives sentences, split(text, ' ') words",
}
"""Names and remedies."""

FAMILIES: dict[str, str] = {
    **dict.fromkeys(("hll_", "kll_", "theta_", "tuple_", "approx_top_k"), "exact counts are maintained: GROUP BY"),
    **dict.fromkeys(("variant_", "try_variant_", "is_valid_variant"), _VARIANT),
    "st_": "there is no type of places; keep coordinates in columns",
}
"""Remedies by prefixes of function names."""

OF_THE_CLOCK: dict[str, str] = {
    **dict.fromkeys(("now", "current_timestamp"), ""),
    **dict.fromkeys(("current_date", "curdate"), "DATE"),
    "localtimestamp": "TIMESTAMP_NTZ",
    **dict.fromkeys(("current_time", "localtime"), "TIME"),
    "unix_timestamp": "BIGINT",
}
"""Functions that tell the time, with what its instant is cast to; a query has them in its clauses alone."""
