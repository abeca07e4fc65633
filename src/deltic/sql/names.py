"""Names of SQL: they match in any case, and keep the spelling of their declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from deltic.errors import ProgramError, did_you_mean
from deltic.sql.text import SourceText

NO_DATABASE = "leave it out; a relation of Datalog whose name has dots is written in backticks"
"""The remedy for a name of several parts."""


def field_name(part: exp.Expression) -> str:
    """Return the name that an expression gives to its field of a struct: as a column, a field, or a placeholder of
    one.
    """
    if isinstance(part, exp.Alias):
        return part.alias
    if isinstance(part, exp.Bracket) and len(part.expressions) == 1 and part.expressions[0].is_string:
        return str(part.expressions[0].name)
    if not isinstance(part, exp.Column | exp.Identifier | exp.Dot):
        return ""
    identifier = part.this if isinstance(part, exp.Column) else part
    return str(identifier.meta.get("field", part.name))


def spelt(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that equal a name up to case."""
    lowered = name.lower()
    return [other for other in known if other.lower() == lowered]


class Spellings:
    """An index of known names that ignores case."""

    def __init__(self, known: Iterable[str]) -> None:
        self._by_lower: dict[str, list[str]] = {}
        for name in known:
            self._by_lower.setdefault(name.lower(), []).append(name)

    def meant(self, tables: Iterable[exp.Table]) -> list[str]:
        """Return the known names that tables may mean, each once."""
        return list(dict.fromkeys(name for table in tables for name in self._by_lower.get(table.name.lower(), ())))


def find_name(
    name: exp.Identifier | exp.Table, kind: str, known: Iterable[str], source: SourceText, remedy: str = ""
) -> str:
    """Return the known name that a name means; raises ProgramError where there is none, or several that differ by case.

    `remedy` is the hint of the error, if any.
    """
    candidates = list(known)
    result = spelt(name.name, candidates)
    if len(result) == 1:
        return result[0]
    if result:
        raise ambiguous(name, result, source)
    listed = f"there {'are' if len(candidates) > 1 else 'is'} {', '.join(candidates)}" if candidates else ""
    hint = remedy or did_you_mean(name.name, candidates) or listed or "create it first"
    raise source.error(name, f"there is no {kind} {name.name}", hint)


def ambiguous(name: exp.Identifier | exp.Table, found: Iterable[str], source: SourceText) -> ProgramError:
    """Return the error for a name that fits several relations, which Datalog distinguishes by case."""
    message = " or ".join(sorted(found))
    return source.error(
        name,
        f"{name.name} may mean {message}: names of SQL are the same whatever their case",
        "give one of them another name",
    )


def names_read(query: exp.Expression) -> list[exp.Table]:
    """Every mention of a relation in a query, without those that WITH defines."""
    return list(_names_read(query, frozenset()))


def _names_read(query: exp.Expression, own: frozenset[str]) -> Iterator[exp.Table]:
    waiting: list[tuple[exp.Expression, frozenset[str]]] = [(query, own)]
    while waiting:
        node, own = waiting.pop()
        clause, inside = node.args.get("with_"), list[tuple[exp.Expression, frozenset[str]]]()
        if isinstance(clause, exp.With):
            for definition in clause.expressions:
                inner = own | {definition.alias.lower()} if clause.recursive else own
                inside.append((definition.this, inner))
                own = own | {definition.alias.lower()}
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and node.name.lower() not in own:
            yield node
        inside += [(child, own) for child in node.iter_expressions() if child is not clause]
        waiting += reversed(inside)


def reads_column(query: exp.Expression, table: str, column: str) -> bool:
    """Return whether a query names something that may be this column of a table."""
    meant = [node for node in names_read(query) if node.name.lower() == table.lower()]
    called = {(node.alias or node.name).lower() for node in meant} | {""}
    for node in query.find_all(exp.Column):
        parts = [part.name.lower() for part in node.parts]
        if column.lower() in parts and (parts[0] in called or parts[0] == column.lower()):
            return True
    return False
