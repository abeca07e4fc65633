"""`apply` of the transformers of `graph`: the relations and rules that mean the same.

Connected components hand on the least label that has come to a node, by a recursion through the least of a group, which
the engine keeps by iterations. SCC keeps in pairs what reaches what, and costs what these pairs are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from deltic.datalog.syntax.expressions import transform
from deltic.errors import ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.parser import parse

GRAPH = "graph"

_EDGES = """
relation {name}Edge(x: {node}, y: {node})
{name}Edge({source}(edge), {target}(edge)) :- {edges}[edge].
"""
_REACHES = (
    _EDGES
    + """
relation {name}Reaches(x: {node}, y: {node})
{name}Reaches(x, y) :- {name}Edge(x, y).
{name}Reaches(x, z) :- {name}Reaches(x, y), {name}Edge(y, z).
"""
)
_COMPONENTS = (
    _EDGES
    + """
relation {name}Come(x: {node}, label: {node})
relation {name}Least(x: {node}, label: {node})
{name}Come(x, x) :- {name}Edge(x, _).
{name}Come(y, y) :- {name}Edge(_, y).
{name}Come(y, label) :- {name}Least(x, label), {name}Edge(x, y).
{name}Least(x, least) :- {name}Come(x, label), var least = label.group_by(x).min().
{labels}[(x, label)] :- {name}Least(x, label).
"""
)
_RULES: Mapping[str, str] = {
    "SCC": _REACHES
    + "{labels}[(x, least)] :- {name}Reaches(x, y), {name}Reaches(y, x), var least = y.group_by(x).min().",
    "ConnectedComponents": _COMPONENTS,
    "ConnectedComponents64": _COMPONENTS,
    "UnsafeBidirectionalEdges": _EDGES + "{labels}[(x, y)] :- {name}Edge(x, y), {name}Edge(y, x).",
}


def expanded(module: s.ModuleFile) -> s.ModuleFile:
    """Return the module, with rules instead of what it applies of `graph`, which it imports.

    Raises ProgramError for arguments that the transformer does not take.
    """
    prefixes = {GRAPH} | {
        item.alias or "" for item in module.items if isinstance(item, s.ImportItem) and item.module == GRAPH
    }
    return replace(module, items=tuple(new for item in module.items for new in _expanded(module, item, prefixes)))


def _expanded(module: s.ModuleFile, item: s.Item, prefixes: set[str]) -> Iterator[s.Item]:
    if not isinstance(item, s.ApplyItem):
        yield item
        return
    prefix, _, name = item.transformer.rpartition("::")
    if prefix not in prefixes or name not in _RULES:
        yield item
        return
    if len(item.arguments) != 3 or len(item.results) != 1:
        hint = f"write `apply {item.transformer}(Edges, from, to) -> (Labels)`"
        raise ProgramError(
            [item.span.error(f"`{name}` takes a relation and two functions, and gives a relation", hint)]
        )
    named = dict(zip(("edges", "source", "target", "labels"), (*item.arguments, *item.results), strict=True))
    place = f"{name}{item.span.line}_{item.span.column}_"
    rules = _RULES[name].format(name=place, node=_node(module, item, named["labels"]), **named)

    yield from (
        transform(made, lambda node: replace(node, span=item.span))
        for made in parse(rules, f"<{item.transformer}>").items
    )


def _node(module: s.ModuleFile, item: s.ApplyItem, labels: str) -> str:
    """Return the type of nodes, which the declaration of the result says."""
    for declared in module.items:
        if isinstance(declared, s.RelationDeclaration) and declared.name == labels:
            record = declared.record
            if isinstance(record, s.TupleType) and len(record.items) == 2:
                return record.items[0].span.text
    message = f"`{labels}` is no relation of this module that has pairs of nodes"
    raise ProgramError(
        [item.span.error(message, f"declare it: `output relation {labels}[(N, N)]`, N the type of nodes")]
    )
