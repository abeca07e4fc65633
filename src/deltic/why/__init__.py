"""Why a row is in a view, and why one is not: searches over a committed version with the row's values bound.

`explanation` is the result for users, `relations` defines the possible premises, `scopes` the nodes of circuits.
`relation_rows` and `rows` evaluate both for bound columns. `derivations` finds the premises of a row for each operator,
`deciding` those rows of a group that determine the result, and `exclusions` those without which the premises alone
would not derive the row. `search` combines steps, by iterations that `runs` computes if they are not stored, and by
`lasting` premises where rows are inserted and deleted. `absence` explains a missing row, `additions` finds insertions
that would derive it, `lineage` joins rows with the rows of tables that they rest on. It may import the engine and the
catalog. Nothing is stored for it. Start at `search`.
"""

from deltic.why.absence import FailedWay, WhyNot
from deltic.why.explanation import Absence, Explanation, ExplanationStep, Note

__all__ = ["Absence", "Explanation", "ExplanationStep", "FailedWay", "Note", "WhyNot"]
