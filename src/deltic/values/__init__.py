"""Python values: the hashable form of values in rows of the reference interpreter, and their order."""

from deltic.values.arrow import from_arrow, numbers_of, of_numbers, to_arrow
from deltic.values.order import in_order
from deltic.values.python import LONGEST, of_python, to_python
