"""Clauses that the parser accepts and queries do not support: each is refused by name."""

from __future__ import annotations

from sqlglot import exp

from deltic.sql.text import SourceText, span_of

_MODIFIERS = ("prewhere", "settings", "format", "options", "for_", "match", "connect")
# Arguments of nodes that nothing reads, with the words for them where the names do not say it.
_UNREAD: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("exclude", "operation_modifiers", "prewhere", "settings", "format", "options", "for_"),
    exp.Subquery: (*_MODIFIERS, "where", "group", "having", "qualify", "distribute", "sort", "cluster", "laterals"),
    exp.SetOperation: (*_MODIFIERS, "where", "group", "having", "qualify", "distribute", "sort", "cluster", "laterals"),
    exp.Table: ("system_time", "version", "when", "only", "partition", "changes", "ordinality", "pattern", "rows_from"),
    exp.Join: ("match_condition", "nearest", "directed", "global_", "expressions"),
    exp.Lateral: ("cross_apply", "ordinality"),
    exp.Limit: ("expressions", "offset"),
    exp.LimitOptions: ("percent", "with_ties"),
    exp.Offset: ("expressions",),
    exp.Ordered: ("with_fill",),
    exp.Group: ("totals",),
    exp.Pivot: ("default_on_null",),
    exp.Between: ("symmetric",),
    exp.With: ("search", "cycle", "udfs"),
    exp.CTE: ("scalar", "key_expressions"),
    exp.Star: ("ilike",),
    exp.Cast: ("format", "default", "action"),
}
_WORDS = {
    "for_": "FOR",
    "cross_apply": "APPLY",
    "version": "a version of a table",
    "global_": "GLOBAL",
    "expressions": "LIMIT BY",
    "totals": "WITH TOTALS",
    "symmetric": "BETWEEN SYMMETRIC",
    "cycle": "CYCLE",
}

_REMEDIES = {
    "symmetric": "write x BETWEEN least(a, b) AND greatest(a, b)",
    "totals": "write GROUPING SETS",
    "percent": "write the number of rows",
    "with_ties": "write QUALIFY rank() OVER (ORDER BY …) <= n",
}


def refuse_unread(query: exp.Expression, source: SourceText) -> None:
    """Raise ProgramError for the first part of a query that lowering would ignore."""
    for node in query.find_all(exp.Expression):
        for kind, arguments in _UNREAD.items():
            for argument in arguments if isinstance(node, kind) else ():
                if node.args.get(argument):
                    word = _WORDS.get(argument, argument.replace("_", " ").upper())
                    hint = _REMEDIES.get(argument, "")
                    raise source.error(_placed(node), f"{word} is not supported in a maintained view", hint)


def _placed(node: exp.Expression) -> exp.Expression:
    """Return the node, or the nearest enclosing one with a position in the text."""
    while span_of(node) is None and isinstance(node.parent, exp.Expression):
        node = node.parent
    return node
