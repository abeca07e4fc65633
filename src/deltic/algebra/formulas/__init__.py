"""Datalog formulas with symbolic derivatives, and programs of them: the specification in miniature [FIX §4, §7].

Small and slow on purpose. `syntax` builds formulas, `meaning` interprets them over a finite universe and `evaluate`
without one, `derivative` finds Δ, ∇ and X, and `programs` computes and maintains recursive programs from these alone.
"""
