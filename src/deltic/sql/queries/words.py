"""Collects the user's words for columns and expressions while a query is lowered."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice, product

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from deltic.catalog.words import QueryTexts, Words
from deltic.sql.dialect import Deltic
from deltic.sql.queries.rows import QueryColumn
from deltic.sql.text import SourceText

_Part = tuple[exp.Expression, SourceText]
"""A part of a text, which may lack the keywords at its ends."""

_WORD = re.compile(r"\w+|'[^']*'|\S")
_BEFORE, _AFTER = 2, 4
"""The most words before and after a part's names and literals that are tried as parts of it."""


class WordsBuilder:
    """The words so far: a column is called by its relation and name, or by the text of an expression."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        self._parts: dict[str, _Part] = {}
        self._values: list[tuple[exp.Expression, _Part]] = []
        self._rules: dict[str, list[_Part]] = {}

    def call(self, attributes: Iterable[QueryColumn]) -> None:
        """Call columns by their relations and names."""
        self._names |= {each.column.name: (each.relation, each.name) for each in attributes}

    def write(self, names: Iterable[str], node: exp.Expression, source: SourceText) -> None:
        """Call columns by an expression, unless they have a name."""
        for name in names:
            self._parts.setdefault(name, (node, source))

    def copy(self, name: str, other: str) -> None:
        """Call a column as another one."""
        if other in self._names:
            self._names[name] = self._names[other]
        if other in self._parts:
            self._parts[name] = self._parts[other]

    def mean(self, value: exp.Expression, node: exp.Expression, source: SourceText) -> None:
        """Let an expression of the circuit have the text of one of the user."""
        if isinstance(value, exp.Column):
            self.write([value.name], node, source)
        else:
            self._values.append((value, (node, source)))

    def mean_parts(self, values: Sequence[exp.Expression], parts: Sequence[exp.Expression], source: SourceText) -> None:
        """Let conditions have the texts of the parts of a clause, if they are as many; BETWEEN is two conditions."""
        means = [part for part in parts for _ in range(2 if isinstance(part, exp.Between) else 1)]
        for value, part in zip(values, means, strict=True) if len(values) == len(means) else ():
            self.mean(value, part, source)

    def rule(self, relation: str, queries: Iterable[exp.Expression], source: SourceText) -> None:
        """Let a recursive relation have these queries."""
        self._rules[relation] = [(query, source) for query in queries]

    def built(self, text: str) -> Words:
        """Return the words for a text."""
        return Words(lambda: self._read(text))

    def _read(self, text: str) -> QueryTexts:
        values = {value: written(*each) for value, each in self._values}
        rules = {
            name: tuple((written(node, source), source.diagnostic(node, "").place) for node, source in queries)
            for name, queries in self._rules.items()
        }
        parts = {column: written(*part) for column, part in self._parts.items()}
        return QueryTexts(parts | self._called(text), values, rules)

    def _called(self, text: str) -> dict[str, str]:
        """Columns by their names, with their relations if the text has these, or if only these tell them apart."""
        relations = defaultdict[str, set[str]](set)
        for relation, name in self._names.values():
            relations[name.lower()].add(relation.lower())
        known = {relation for relation, _ in self._names.values() if relation}
        qualified = {each for each in known if re.search(rf"\b{re.escape(each)}`?\s*\.", text, re.IGNORECASE)}

        def word(relation: str, name: str) -> str:
            is_qualified = relation in qualified or (relation and len(relations[name.lower()] - {""}) > 1)
            return f"{relation}.{name}" if is_qualified else name

        return {column: word(*name) for column, name in self._names.items()}


def written(node: exp.Expression, source: SourceText) -> str:
    """Return a part as it was written, found by parsing the words around its names and literals; else as sqlglot writes
    it.
    """
    if "words" in node.meta:
        return str(node.meta["words"])
    meaning, span = node.sql(dialect=Deltic), source.span(node)
    if span is not None and "\0" not in meaning:
        starts = [span[0], *(m.start() for m in reversed([*_WORD.finditer(source.text, 0, span[0])][-_BEFORE:]))]
        ends = [span[1], *(m.end() for m in islice(_WORD.finditer(source.text, span[1]), _AFTER))]
        for before, after in sorted(product(range(len(starts)), range(len(ends))), key=sum):
            text = source.text[starts[before] : ends[after]]
            if _meaning(text) == meaning:
                return " ".join(text.split())
    return meaning.replace("\0", "")


def _meaning(text: str) -> str:
    try:
        return parse_one(text, dialect=Deltic).sql(dialect=Deltic)
    except SqlglotError:
        return ""
