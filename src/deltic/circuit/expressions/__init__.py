"""Scalar expressions: sqlglot trees over named columns, with their types and their text.

The *closed core* (columns, literals, comparisons, arithmetic, bit operations, Boolean logic, null tests, CASE and
COALESCE, least and greatest, numeric casts) is evaluated by each engine itself; other casts are evaluated by DuckDB,
and calls as the table in `deltic.functions` says. Integers wrap around at their width; division truncates toward zero
and the remainder has the sign of the dividend; decimals are exact; undefined values are NULL. SQL's arithmetic consists
of `SAFE` operations, which are NULL instead of wrapping around, and of conversions; `Checked` makes NULL an error.
"""

from deltic.circuit.expressions.casts import cast, cast_type, conversion, is_conversion, null
from deltic.circuit.expressions.inference import infer, is_listed, result_of, type_of, type_over
from deltic.circuit.expressions.lambdas import (
    BoundElement,
    Fold,
    HigherOrder,
    Let,
    Mapped,
    bound,
    element_type,
    higher_order,
    key_of,
    read_of,
)
from deltic.circuit.expressions.literals import is_literal, is_literal_zero, literal
from deltic.circuit.expressions.text import show
from deltic.circuit.expressions.trees import (
    ARITHMETIC,
    BITWISE,
    BY_ORDER,
    COMPARISONS,
    FEW,
    SAFE,
    Checked,
    TreePart,
    balanced,
    checked,
    column,
    columns_of,
    conjunction,
    conjuncts,
    is_checked,
    is_division,
    is_not_null,
    is_null,
    nodes_of,
    operands_in_turn,
    operands_of,
    put,
    substituted,
)
