"""Builds the statements of a program from lark's parse tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lark import Token, Tree

from deltic.datalog.souffle.build_expressions import build_type_name, string_value
from deltic.datalog.souffle.build_formulas import build_atom, build_formula
from deltic.datalog.souffle.context import ParseContext, Parsed, tokens, tree, trees
from deltic.datalog.souffle.unsupported import UNSUPPORTED
from deltic.datalog.souffle.words import PRAGMAS, PRIMITIVE_TYPES, RELATION_PRAGMAS, SETTINGS
from deltic.datalog.syntax.expressions import FUNCTOR, TypeName
from deltic.datalog.syntax.program import (
    Attribute,
    Branch,
    Clause,
    ComponentDeclaration,
    ComponentInstance,
    ComponentName,
    Declaration,
    DirectiveItem,
    FunctorDeclaration,
    Item,
    Option,
    Override,
    Pragma,
    StructureType,
    Subsumption,
    Subtype,
    UnionType,
)
from deltic.errors import did_you_mean


def build_items(context: ParseContext, program: Parsed) -> tuple[Item, ...]:
    """The statements of a program; unsupported ones are reported and left out."""
    return tuple(item for child in program.children if isinstance(child, Tree) for item in _items(context, child))


def _items(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    if parsed.data in UNSUPPORTED:
        context.reject(parsed, parsed.data)
    else:
        yield from _BUILDERS[parsed.data](context, parsed)


def _relation(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    names, columns = tree(parsed, "names"), _fields(context, parsed)
    keys = [key for choice in trees(parsed, "choice") for key in trees(choice, "key")]
    choices = tuple(tuple(map(str, tokens(key))) for key in keys)
    qualifiers = tuple(str(word) for child in trees(parsed, "qualifier") for word in tokens(child))
    hints = tuple(word for word in qualifiers if word not in _ROLES)
    for name in tokens(names) if names else ():
        yield Declaration(context.name(name), columns, hints, choices, span=context.span(name))
        for role in qualifiers:
            if role in _ROLES:
                yield DirectiveItem(role, str(name), (), span=context.span(name))


_ROLES = ("input", "output", "printsize")
"""Old qualifiers of a declaration, which have the meaning of directives of these names."""


def _attribute(context: ParseContext, parsed: Parsed) -> Attribute:
    type_name = tree(parsed, "type_name")
    assert type_name
    name, *lattice = tokens(parsed)
    if lattice:
        context.reject(lattice[0], "lattice")
    return Attribute(str(name), build_type_name(context, type_name), span=context.span(name))


def _subtype(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    (base,) = trees(parsed, "type_name")
    yield Subtype(_new_type(context, parsed), build_type_name(context, base), span=context.span(tokens(parsed)[0]))


def _legacy_type(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    """`.number_type T`, `.symbol_type T` and `.type T`, the old form of a subtype of symbol."""
    *keyword, name = tokens(parsed)
    base = "number" if keyword and keyword[0].type == "NUMBER_TYPE" else "symbol"
    yield Subtype(_checked_type(context, name), TypeName(base, span=context.span(name)), span=context.span(name))


def _union_type(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    members = tuple(build_type_name(context, member) for member in trees(parsed, "type_name"))
    yield UnionType(_new_type(context, parsed), members, span=context.span(tokens(parsed)[0]))


def _record_type(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    branch = Branch("", _fields(context, parsed), span=context.span(parsed))
    yield StructureType(_new_type(context, parsed), (branch,), span=context.span(tokens(parsed)[0]))


def _adt_type(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    branches = []
    for child in trees(parsed, "branch"):
        (name,) = tokens(child)
        branches.append(Branch(context.name(name), _fields(context, child), span=context.span(name)))
    yield StructureType(_new_type(context, parsed), tuple(branches), span=context.span(tokens(parsed)[0]))


def _fields(context: ParseContext, parsed: Parsed) -> tuple[Attribute, ...]:
    attributes = tree(parsed, "attributes")
    return tuple(_attribute(context, child) for child in trees(attributes, "attribute")) if attributes else ()


def _functor(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    name, *stateful = tokens(parsed)
    if stateful:
        context.reject(stateful[0], "stateful")
    (result,) = (tree(child, "type_name") for child in trees(parsed, "result"))
    given = [child for child in parsed.children if isinstance(child, Tree) and child.data != "result"]
    types = [child if child.data == "type_name" else tree(child, "type_name") for child in given]
    mentions = (build_type_name(context, type_) for type_ in (*types, result) if type_)
    *parameters, returns = mentions
    yield FunctorDeclaration(FUNCTOR + name, tuple(parameters), returns, span=context.span(name))


def _new_type(context: ParseContext, parsed: Parsed) -> str:
    return _checked_type(context, tokens(parsed)[0])


def _checked_type(context: ParseContext, name: Token) -> str:
    if name in PRIMITIVE_TYPES:
        context.report(name, f"`{name}` is a type of the language and cannot be declared")
    return context.name(name)


def _directive(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    kind = tokens(parsed)[0].removeprefix(".")
    options = tuple(_option(context, child) for child in trees(parsed, "option"))
    for name in trees(parsed, "qualified"):
        yield DirectiveItem(kind, context.qualified(tokens(name)[0]), options, span=context.span(name))


def _option(context: ParseContext, parsed: Parsed) -> Option:
    key, value = tokens(parsed)
    text = string_value(context, value) if value.type == "STRING" else str(value)
    return Option(str(key), text, span=context.span(parsed))


def _check_plan(context: ParseContext, parsed: Parsed) -> None:
    """Report orders that are not permutations. The number of atoms depends on inlining and is not checked."""
    for plan in trees(parsed, "plan"):
        for order in trees(plan, "order"):
            _, *places = (int(token) for token in tokens(order))
            if sorted(places) != list(range(1, len(places) + 1)):
                hint = "name each atom of the body once, counted from 1; or remove .plan"
                context.report(order, "this is no order of atoms", hint)


def _clause(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    heads, *rest = [child for child in parsed.children if isinstance(child, Tree) and child.data != "plan"]
    atoms = tuple(build_atom(context, atom) for atom in trees(heads, "atom"))
    body = build_formula(context, rest[0]) if rest else None
    _check_plan(context, parsed)
    yield Clause(atoms, body, span=context.span(parsed))


def _subsumption(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    lesser, greater, body = [child for child in parsed.children if isinstance(child, Tree) and child.data != "plan"]
    atoms = build_atom(context, lesser), build_atom(context, greater)
    yield Subsumption(*atoms, build_formula(context, body), span=context.span(parsed))


# Pragmas that are only supported as options of the command line.
_ELSEWHERE = {
    "fact-dir": "say where files are on the command line: `deltic run -F DIR`",
    "output-dir": "say where files go on the command line: `deltic run -D DIR`",
    "macro": "define macros on the command line, `deltic run -M NAME=TEXT`, or by `#define`",
}


def _pragma(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    key: Token = tokens(parsed)[0]
    name = string_value(context, key)
    if name in RELATION_PRAGMAS:
        yield from _about_relations(context, parsed, name)
    elif name in SETTINGS:
        yield _setting(context, parsed, name)
    elif name not in PRAGMAS:
        message = f'the pragma "{name}" is not supported'
        hint = _ELSEWHERE.get(name) or did_you_mean(name, (*PRAGMAS, *RELATION_PRAGMAS, *SETTINGS)) or "remove the line"
        context.report(key, message, hint)


def _setting(context: ParseContext, parsed: Parsed, name: str) -> Item:
    """Build a pragma such as `.pragma "word-size" "32"`."""
    key, *rest = tokens(parsed)
    value = ",".join(string_value(context, token) for token in rest)
    if value not in SETTINGS[name]:
        ways = " or ".join(
            f'`.pragma "{name}" "{known}"`' if known else f'`.pragma "{name}"`' for known in SETTINGS[name]
        )
        context.report(rest[0] if rest else key, f'the pragma "{name}" cannot be "{value}"', f"write {ways}")
    return Pragma(name, value, span=context.span(key))


def _about_relations(context: ParseContext, parsed: Parsed, kind: str) -> Iterator[Item]:
    """Build a directive for each relation of a pragma such as `.pragma "hidden" "r,s"`; `*` means all relations."""
    key, *rest = tokens(parsed)
    if not rest:
        context.report(key, "this pragma names relations", f'write `.pragma "{kind}" "helper"`')
    for token in rest:
        for name in string_value(context, token).split(","):
            yield DirectiveItem(kind, name.strip(), (), span=context.span(token))


def _component(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    itself, *bases = trees(parsed, "component_type")
    name, *parameters = tokens(itself)
    statements = [child for child in parsed.children if isinstance(child, Tree) and child.data != "component_type"]
    yield ComponentDeclaration(
        context.name(name),
        tuple(map(context.name, parameters)),
        tuple(_component_name(context, base) for base in bases),
        tuple(item for child in statements for item in _items(context, child)),
        span=context.span(name),
    )


def _component_name(context: ParseContext, parsed: Parsed) -> ComponentName:
    name, *arguments = tokens(parsed)
    mentions = tuple(TypeName(context.qualified(token), span=context.span(token)) for token in arguments)
    return ComponentName(context.name(name), mentions, span=context.span(parsed))


def _instance(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    (component,) = trees(parsed, "component_type")
    name = tokens(parsed)[0]
    yield ComponentInstance(context.name(name), _component_name(context, component), span=context.span(name))


def _override(context: ParseContext, parsed: Parsed) -> Iterator[Item]:
    (name,) = tokens(parsed)
    yield Override(context.name(name), span=context.span(name))


_BUILDERS: dict[str, Callable[[ParseContext, Parsed], Iterator[Item]]] = {
    "relation": _relation,
    "subtype": _subtype,
    "legacy_type": _legacy_type,
    "union_type": _union_type,
    "record_type": _record_type,
    "adt_type": _adt_type,
    "functor": _functor,
    "directive": _directive,
    "clause": _clause,
    "subsumption": _subsumption,
    "pragma": _pragma,
    "component": _component,
    "instance": _instance,
    "override": _override,
}
