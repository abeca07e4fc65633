"""Why a row is in a view, and why one is not: searches over a committed version with the row's values bound.

`explanation` is what a user gets, `relations` what may be a premise, `rows` evaluates a circuit for bound columns,
`derivations` has a row of each operator's premises, `search` puts steps together, and `absence` says what is missing.
It may import the engine and the catalog. Nothing is stored for it. Start at `search`.
"""

from deltic.why.absence import FailedWay, WhyNot
from deltic.why.explanation import Absence, Explanation, ExplanationStep, Note

__all__ = ["Absence", "Explanation", "ExplanationStep", "FailedWay", "Note", "WhyNot"]
