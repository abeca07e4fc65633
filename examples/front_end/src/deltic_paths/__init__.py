"""A language of paths over tables of edges, as an example of a front end: docs in README.md."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deltic.catalog import CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions, schema_of
from deltic.circuit import CircuitBuilder, Column, Type, ZSetType
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.datalog.syntax.source import ProgramText, Span
from deltic.errors import ProgramError, did_you_mean
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.front_end import NO_OPTIONS, FrontEnd, SourceOptions

PAIRS = schema_of("edges", {"start": "string", "end": "string"})
TOKEN = re.compile(r"[ \t]*(?:#.*)?(\w+|[^\w\s])?")


class Paths(FrontEnd):
    """A line is `edges NAME, …`, which makes tables, or `NAME = PATH`: names, `a b`, `a | b`, `a+` and parentheses."""

    name, title, suffixes = "paths", "Paths", (".paths",)

    def define(self, now: Definitions, text: str, file: str, options: SourceOptions = NO_OPTIONS) -> Definitions:
        known = {name: type_ for name, type_ in now.catalog.relations.items() if _has_pairs(type_)}
        source, tables, definitions = ProgramText(file, text), list[CatalogTable](), list[ViewDefinitions]()
        for line in re.finditer(r".+", text):
            words = _Words(source, line.start(), line.end())
            if words.take("edges"):
                tables += [
                    CatalogTable(words.name(), PAIRS),
                    *(CatalogTable(words.name(), PAIRS) for _ in iter(words.comma, False)),
                ]
                known |= {table.name: ZSetType(PAIRS, is_set=True) for table in tables}
            elif words.next:
                view, circuit = (
                    CatalogView(words.name(), ZSetType(PAIRS, is_set=True), text=line[0]),
                    _Circuit(words, known),
                )
                words.expect("=")
                definitions.append(circuit.definition(view))
                known[view.name] = view.type
            words.end()
        return now.with_part(
            FrontEndDefinitions(self.title, tables, definitions), self.name, text, file, options.written
        )


def _has_pairs(type_: ZSetType) -> bool:
    return [(c.type, c.nullable) for c in type_.schema] == [(Type.STRING, False)] * 2


class _Words:
    """The words of a line, with the place of the next one."""

    def __init__(self, source: ProgramText, start: int, end: int) -> None:
        self._source, self._end = source, end
        self._skip(start)

    def _skip(self, start: int) -> None:
        found = TOKEN.match(self._source.text, start, self._end)
        assert found is not None
        self.next, (start, self._after) = found[1] or "", found.span(1) if found[1] else (self._end, self._end)
        self.place: Span = self._source.place(start, max(self._after, start))

    def take(self, word: str) -> bool:
        """Whether the next word is this one, which is passed then."""
        if is_it := self.next == word:
            self._skip(self._after)
        return is_it

    def comma(self) -> bool:
        return self.take(",")

    def name(self) -> str:
        name = self.next
        if not name.isidentifier():
            raise ProgramError([self.place.error("a name is expected here")])
        self._skip(self._after)
        return name

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise ProgramError([self.place.error(f"`{word}` is expected here")])

    def end(self) -> None:
        if self.next:
            raise ProgramError([self.place.error(f"nothing more is expected, found `{self.next}`")])


class _Circuit:
    """The circuit of a view, which is built while its path is read: each part of the path is a node."""

    def __init__(self, words: _Words, known: Mapping[str, ZSetType]) -> None:
        self._words, self._known, self._builder = words, known, CircuitBuilder()

    def definition(self, view: CatalogView) -> ViewDefinitions:
        self._builder.add(ops.Sink(view.name), self._builder.add(ops.Distinct(), self._either()))
        return ViewDefinitions((view,), self._builder.build())

    def _either(self) -> int:
        node = self._sequence()
        while self._words.take("|"):
            node = self._builder.add(ops.Distinct(), self._builder.add(ops.Plus(), node, self._sequence()))
        return node

    def _sequence(self) -> int:
        node = self._step()
        while self._words.next not in ("", "|", ")"):
            node = _joined(self._builder, node, self._step())
        return node

    def _step(self) -> int:
        if self._words.take("("):
            node = self._either()
            self._words.expect(")")
        else:
            node = self._relation(self._words.place, self._words.name())
        return self._repeated(node) if self._words.take("+") else node

    def _relation(self, place: Span, name: str) -> int:
        if name not in self._known:
            hint = did_you_mean(name, self._known) or "tables of edges and views have two columns of strings"
            raise ProgramError([place.error(f"there are no edges {name}", hint)])
        type_ = self._known[name]
        node = self._builder.add(ops.Source(name, type_.schema, type_.is_set))
        return _as_pairs(self._builder, node, "start", "end")

    def _repeated(self, node: int) -> int:
        """The paths of one or more steps: the least set with the steps, and with a path and a step a path."""
        body = CircuitBuilder(depth=1)
        steps = body.add(ops.Import(0, ZSetType(PAIRS, is_set=True)))
        longer = _joined(body, body.add(ops.Feedback("path", PAIRS)), steps)
        body.add(ops.Sink("path"), body.add(ops.Distinct(), body.add(ops.Plus(), steps, longer)))
        steps = self._builder.add(ops.Distinct(), node)
        return self._builder.add(ops.BundleRelation("path"), self._builder.add(ops.Fixpoint(body.build()), steps))


def _as_pairs(builder: CircuitBuilder, node: int, *names: str) -> int:
    """The node's two columns under other names."""
    here = builder.type_of(node).schema
    columns = tuple(Column(name, Type.STRING) for name in names)
    return node if here.names == names else builder.add(ops.Map(columns, tuple(column(n) for n in here.names)), node)


def _joined(builder: CircuitBuilder, first: int, then: int) -> int:
    """The pairs of a start of `first` and an end of `then` that meet."""
    pairs = _as_pairs(builder, first, "start", "middle"), _as_pairs(builder, then, "middle", "end")
    ends = tuple(Column(name, Type.STRING) for name in ("start", "end"))
    joined = builder.add(ops.Map(ends, (column("start"), column("end"))), builder.add(ops.Join(), *pairs))
    return builder.add(ops.Distinct(), joined)
