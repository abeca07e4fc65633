"""Default arguments of Spark's functions, which its column names show."""

from __future__ import annotations

from collections.abc import Mapping

_TIME = "yyyy-MM-dd HH:mm:ss"
_SAME = "lambdafunction(namedlambdavariable(), namedlambdavariable())"
_V = "namedlambdavariable()"
_NULLS_LAST = (
    f"lambdafunction((IF((({_V} IS NULL) AND ({_V} IS NULL)), 0, (IF(({_V} IS NULL), 1, (IF(({_V} IS NULL), -1, "
    f"(IF(({_V} < {_V}), -1, (IF(({_V} > {_V}), 1, 0)))))))))), {_V}, {_V})"
)

DEFAULTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(("lag", "lead"), (1, ("1", "NULL"))),
    **dict.fromkeys(("listagg", "string_agg"), (1, ("NULL",))),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), (2, ("10000",))),
    **dict.fromkeys(("lpad", "rpad"), (2, (" ",))),
    **dict.fromkeys(("locate", "position"), (2, ("1",))),
    **dict.fromkeys(("substr", "substring"), (2, ("2147483647",))),
    **dict.fromkeys(("bround", "round"), (1, ("0",))),
    **dict.fromkeys(("from_unixtime", "to_unix_timestamp"), (1, (_TIME,))),
    **dict.fromkeys(("regexp_extract", "regexp_extract_all"), (2, ("1",))),
    **dict.fromkeys(("aggregate", "reduce"), (3, (_SAME,))),
    "instr": (3, ("1",)),
    "array_sort": (1, (_NULLS_LAST,)),
    "make_dt_interval": (0, ("0", "0", "0", "0.000000")),
    "make_interval": (0, ("0", "0", "0", "0", "0", "0", "0.000000")),
    "make_ym_interval": (0, ("0", "0")),
    "mask": (1, ("X", "x", "n", "NULL")),
    "months_between": (2, ("true",)),
    "ntile": (0, ("1",)),
    "overlay": (3, ("-1",)),
    "percentile": (2, ("1",)),
    "regexp_instr": (2, ("0",)),
    "regexp_replace": (3, ("1",)),
    "replace": (2, ("",)),
    "sentences": (1, ("", "")),
    "sort_array": (1, ("true",)),
    "split": (2, ("-1",)),
    "str_to_map": (1, (",", ":")),
    "time_bucket": (2, ("TIMESTAMP '1970-01-01 00:00:00'",)),
    "unix_timestamp": (0, ("current_timestamp()", _TIME)),
}
"""By name: how many arguments come before those with a default, and these."""


def with_defaults(name: str, given: list[str]) -> list[str]:
    """Return the arguments of a function with its defaults added."""
    first, defaults = DEFAULTS.get(name, (0, ()))
    return [*given, *defaults[len(given) - first :]] if len(given) >= first else given
