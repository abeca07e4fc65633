"""Functions with Spark's semantics outside of the closed core: one entry each, see CONTRIBUTING.md.

In circuits a function has the prefix `spark_`. It takes values of exactly the types in its entry; SQL coerces its
arguments to them.
"""

from deltic.discovery import import_files
from deltic.functions.function import FUNCTIONS, PROVIDED, Function, call, function_of, is_call, names_in_sql, provide

import_files(__name__, list(__path__))  # each file enters its functions
