"""Functions with Spark's meaning, outside of the closed core: one entry each, see CONTRIBUTING.md.

In circuits a function is called by its name in Spark behind `spark_`. It takes values of exactly the types that its
row says; SQL brings its arguments to them.
"""

from deltic.discovery import import_files
from deltic.functions.function import FUNCTIONS, PROVIDED, Function, call, function_of, is_call, names_in_sql, provide

import_files(__name__, list(__path__))  # each file enters its functions

__all__ = ["FUNCTIONS", "PROVIDED", "Function", "call", "function_of", "is_call", "names_in_sql", "provide"]
