"""Functions of SQL by their names in Spark: plain ones by their row in the table, others by a rule of their own."""

from deltic.sql.scalars.functions import (
    collections,
    csv,
    lambdas,
    numbers,
    records,
    texts,
    times,
    values,
    written,
)
from deltic.sql.scalars.functions.lookup import called
from deltic.sql.scalars.functions.rules import RULES
