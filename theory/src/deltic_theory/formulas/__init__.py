"""Datalog formulas with symbolic derivatives, and programs of them: the specification in miniature [FIX §4, §7].

Small and slow on purpose. `syntax` builds formulas, `meaning` interprets them over a finite universe and `evaluate`
without one, `derivative` finds Δ, ∇ and X, and `programs` computes and maintains recursive programs from these alone.

    >>> from deltic_theory.formulas.syntax import atom, exists
    >>> from deltic_theory.formulas.programs import Predicate, FormulaProgram, rows_of, semantics
    >>> body = atom("e", "x", "y") | exists("z", atom("e", "x", "z") & atom("tc", "z", "y"))
    >>> closure = FormulaProgram({"tc": Predicate(("x", "y"), body)})
    >>> tables = {"e": frozenset({(1, 2), (2, 3)})}
    >>> facts = semantics(closure, tables)
    >>> sorted(rows_of(facts, "tc"))
    [(1, 2), (1, 3), (2, 3)]

An edge goes; what it took away is maintained from an over-deletion, here all that may have lost its support:

    >>> from deltic_theory.boolean import Change
    >>> from deltic_theory.formulas.over_deletion import over_deletion
    >>> from deltic_theory.formulas.programs import maintain
    >>> removed = {"e": Change(frozenset(), frozenset({(2, 3)}))}
    >>> change = maintain(closure, tables, removed, facts, over_deletion(closure, tables, removed, facts))
    >>> sorted(rows_of(change.down, "tc"))
    [(1, 3), (2, 3)]
"""
