"""Remedies for statements, functions, types and names of other databases, and for functions of Spark that views cannot
have.
"""

from __future__ import annotations

import re

from sqlglot import exp

from deltic.sql.collations import HINT

_FRESH = "views are always fresh: there is nothing to do"
FROM_FILES = "make a table from the file: CREATE TABLE t USING csv LOCATION 'FILE'"
_ROLES = "there are no users: set permissions on the state's directory"
_STATE = "leave it out: Deltic does this by itself; deltic compact rewrites a state"

STATEMENTS: dict[str, str] = {
    "REFRESH": f"{_FRESH}. REFRESH of sources is pipeline.refresh() and deltic refresh",
    "SUBSCRIBE": 'pipeline.changes("view") follows a view, epoch by epoch',
    "LISTEN": 'pipeline.changes("view") follows a view, epoch by epoch',
    "PRAGMA": "what can be set are options of deltic.Pipeline(…)",
    "COPY": FROM_FILES + '; change.insert("t", pathlib.Path("FILE")) reads one into a table',
    "LOAD": FROM_FILES,
    "UNLOAD": 'pipeline["view"].write("FILE") writes rows',
    "EXPORT": 'pipeline["view"].write("FILE") writes rows',
    "ANALYZE": _STATE,
    "VACUUM": _STATE,
    "OPTIMIZE": _STATE,
    "CHECKPOINT": "pipeline.checkpoint() writes the state",
    "CACHE": _FRESH,
    "UNCACHE": _FRESH,
    "CLEAR": _FRESH,
    "GRANT": _ROLES,
    "REVOKE": _ROLES,
    "REPLACE": "write INSERT INTO … ON CONFLICT (key) DO UPDATE SET column = excluded.column",
    "UPSERT": "write INSERT INTO … ON CONFLICT (key) DO UPDATE SET column = excluded.column",
    "CALL": "functions of Python are called in queries: pipeline.function adds one",
    "PREPARE": 'statements take parameters: pipeline.sql("SELECT … WHERE id = :id", {"id": 7})',
    "ATTACH": "CREATE TABLE t USING database OPTIONS (url '…', table '…') reads a table of a database",
    "END": "write COMMIT",
}
"""By the first words of statements."""

FUNCTIONS: dict[str, str] = {
    "strftime": "date_format(time, 'yyyy-MM-dd')",
    "strptime": "to_timestamp(text, 'yyyy-MM-dd')",
    "list": "collect_list(x)",
    "group_uniq_array": "collect_set(x)",
    "json_agg": "to_json(collect_list(x))",
    "jsonb_agg": "to_json(collect_list(x))",
    "getdate": "current_timestamp()",
    "sysdate": "current_timestamp()",
    "clock_timestamp": "current_timestamp()",
    "generate_series": "explode(sequence(a, b)), or range(a, b + 1) in FROM",
    "string_to_array": "split(text, pattern)",
    "str_split": "split(text, pattern)",
    "array_to_string": "array_join(xs, ',')",
    "list_value": "array(a, b)",
    "list_contains": "array_contains(xs, x)",
    "list_transform": "transform(xs, x -> x + 1)",
    "list_filter": "filter(xs, x -> x > 1)",
    "charindex": "locate(part, text)",
    "len": "length(text), or size(xs)",
    "regexp_matches": "regexp_like(text, pattern), or regexp_extract_all",
    "json_extract": "get_json_object(text, '$.a')",
    "json_extract_path_text": "get_json_object(text, '$.a')",
    "jsonb_extract_path_text": "get_json_object(text, '$.a')",
    "to_jsonb": "to_json(x)",
    "row_to_json": "to_json(x)",
    "epoch": "unix_timestamp(time)",
    "date_diff": "datediff(end, start), or timestampdiff(DAY, start, end)",
    "date_sub_days": "date_sub(day, n)",
    "age": "end - start, which is an interval",
    "gen_random_uuid": "a value that was made when the row was inserted",
    "nextval": "a value that was made when the row was inserted",
}
"""By the names that other databases have for functions; those that read files are of FROM."""

TYPES: dict[str, str] = {
    **dict.fromkeys(("SERIAL", "BIGSERIAL", "SMALLSERIAL"), "BIGINT, and give the numbers when rows are inserted"),
    **dict.fromkeys(("UUID", "JSON", "JSONB", "CITEXT", "INET", "ENUM"), "STRING"),
    "MONEY": "DECIMAL(19, 4)",
    "HUGEINT": "DECIMAL(38, 0)",
    "TIMETZ": "STRING, or the microseconds as BIGINT",
}
"""By the names that other databases have for types."""

_FILE = re.compile(r"\.(csv|tsv|parquet|jsonl?|ndjson|gz)$", re.IGNORECASE)


def of_relation(node: exp.Expression) -> str:
    """Return the remedy for an unknown name in FROM; "" for none."""
    name, database = node.name.lower(), node.text("db").lower()
    around = node.find_ancestor(exp.CTE)
    while around is not None:
        if around.alias.lower() == name:
            return "a query that reads itself is WITH RECURSIVE"
        around = around.find_ancestor(exp.CTE)
    if _FILE.search(name) or database in ("csv", "parquet", "json", "text", "orc", "avro"):
        return FROM_FILES
    if database in ("information_schema", "pg_catalog") or name == "sqlite_master":
        return "SHOW TABLES and DESCRIBE t list what is defined"
    return ""


def of_function(name: str) -> str:
    """Return the remedy for an unknown function; "" for none."""
    return f"write {FUNCTIONS[name]}" if name in FUNCTIONS else ""


def of_type(name: str) -> str:
    """Return the remedy for an unknown type; "" for none."""
    return f"use {TYPES[name.upper()]}" if name.upper() in TYPES else ""


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
