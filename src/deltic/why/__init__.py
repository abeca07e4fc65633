"""Why a row is in a view, and why one is not: searches over a committed version with the row's values bound.

`explanation` is what a user gets, `relations` what may be a premise, `rows` evaluates a circuit for bound columns,
`derivations` has a row of each operator's premises, with those of a group that decide in `deciding`; `search` puts
steps together, by iterations that `runs` finds where none are kept, and by `lasting` premises where rows come and go.
`absence` says what fails for a row that is not there, `additions` what would make it. It may import the engine and
the catalog. Nothing is stored for it. Start at `search`.
"""

from deltic.why.absence import FailedWay, WhyNot
from deltic.why.explanation import Absence, Explanation, ExplanationStep, Note

__all__ = ["Absence", "Explanation", "ExplanationStep", "FailedWay", "Note", "WhyNot"]
