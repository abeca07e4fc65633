"""Scalar expressions of SQL: their types and their lowering. The semantics is Spark's in ANSI mode.

The session's time zone is UTC: there an instant is shown, and there a text without a zone is read.
"""

from deltic.sql.scalars.coercion import (
    can_coerce,
    coerced,
    common_type,
    converted,
    named_as,
    settled,
    type_in_common,
    unified,
)
from deltic.sql.scalars.comparing import comparable
from deltic.sql.scalars.translate import typed
from deltic.sql.scalars.typed import NULL, Typed, constant
