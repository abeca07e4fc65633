"""What the modules of a program declare, by names in full."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from deltic.datalog.syntax.expressions import nodes_in
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic
from deltic_ddlog import syntax as s
from deltic_ddlog import types as t
from deltic_ddlog.modules import Module, Names
from deltic_ddlog.types import substitute
from deltic_ddlog.values import OPTION, RESULT, Constructor

_BUILT_IN: Mapping[str, t.DdlogType] = {
    "bool": t.BOOL,
    "string": t.STRING,
    "bigint": t.BigInt(),
    "double": t.Double(),
    "float": t.Float(),
}
# Constructors that functions of Python make values with.
_KNOWN_CONSTRUCTORS = {constructor.name: constructor for constructor in (*OPTION, *RESULT)}
_REFERENCE = "ddlog_std::Ref"
_SIGNED = (8, 16, 32, 64, 128)
# What loops give of the library's collections, over their parameters.
_COLLECTIONS = frozenset({"ddlog_std::Vec", "ddlog_std::Set", "hashset::HashSet", "tinyset::Set64"})


@dataclass
class TypeEntry:
    """A type: with `alias` another name of one, with `constructors` one of its own, else an extern one.

    `element` is what a loop over a value gives.
    """

    name: str
    parameters: tuple[str, ...]
    module: Module
    declaration: s.Typedef
    alias: s.TypeMention | None = None
    constructors: list[ConstructorEntry] = field(default_factory=list)
    element: t.DdlogType | None = None


@dataclass(frozen=True)
class ConstructorEntry:
    """A constructor, its type, and the types of its fields over the type's parameters."""

    constructor: Constructor
    type: str
    fields: tuple[t.DdlogType, ...]
    span: Span


@dataclass(frozen=True)
class Signature:
    """A function as it is declared. `number` is its place among those of its name."""

    name: str
    number: int
    names: tuple[str, ...]
    parameters: tuple[t.FunctionParameter, ...]
    result: t.DdlogType
    declaration: s.FunctionDeclaration
    module: Module

    def __str__(self) -> str:
        message = ", ".join(f"{n}: {p}" for n, p in zip(self.names, self.parameters, strict=True))
        return f"{self.name}({message}): {self.result}"


@dataclass(frozen=True)
class RelationEntry:
    """A relation as it is declared."""

    name: str
    record: t.DdlogType
    declaration: s.RelationDeclaration
    module: Module


class Declarations:
    """The tables of a program's declarations; what is wrong with these is in `findings`."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = modules
        self.findings: list[Diagnostic] = []
        self.types: Names[TypeEntry] = Names()
        self.constructors: Names[ConstructorEntry] = Names()
        self.functions: Names[list[Signature]] = Names()
        self.relations: Names[RelationEntry] = Names()
        self.transformers: Names[s.Transformer] = Names()
        self._expanding: list[str] = []
        for module in modules:
            self._declare_types(module)
        for entry in list(self.types.entries.values()):
            self._define_type(entry)
        for module in modules:
            self._declare_others(module)

    def report(self, span: Span, message: str, hint: str = "") -> None:
        """Add a finding."""
        self.findings.append(span.error(message, hint))

    # --- types

    def _declare_types(self, module: Module) -> None:
        for item in module.syntax.items:
            if isinstance(item, s.Typedef):
                self._declare_type(module, item)
            elif isinstance(item, s.RelationDeclaration) and item.fields is not None:
                made = s.ConstructorDeclaration(item.name, item.fields, span=item.span)
                self._declare_type(module, s.Typedef(item.name, (), (made,), span=item.span))

    def _declare_type(self, module: Module, item: s.Typedef) -> None:
        name = module.full(item.name)
        if name in self.types.entries:
            self.report(item.span, f"the type `{name}` is declared twice", "rename one of them")
            return
        self.types.entries[name] = TypeEntry(name, item.parameters, module, item)

    def _define_type(self, entry: TypeEntry) -> None:
        item, module = entry.declaration, entry.module
        if len(set(item.parameters)) < len(item.parameters):
            self.report(item.span, f"`{item.name}` has a type parameter twice")
        entry.element = _element(entry.name, item.parameters)
        for attribute in item.attributes:
            mention = attribute.value.type if isinstance(attribute.value, s.Ascription) else None
            if attribute.name in ("iterate_by_ref", "iterate_by_val") and mention:
                entry.element = self.type(mention, module, item.parameters)
        if isinstance(item.definition, s.TypeMention):
            entry.alias = item.definition
            self.type(item.definition, module, item.parameters)
        elif item.definition is not None and not self._is_alias(entry, item.definition):
            self._define_constructors(entry, item.definition)

        self._check_parameters(entry)

    def _check_parameters(self, entry: TypeEntry) -> None:
        """Report type parameters that the type does not use."""
        item = entry.declaration
        if isinstance(item.definition, s.TypeMention):
            mentions = [item.definition]
        else:
            mentions = [result.type for made in item.definition or () for result in made.fields]
        used = {name for mention in mentions for name in _type_variables(mention)}
        for name in item.parameters:
            if item.definition is not None and name not in used:
                self.report(item.span, f"nothing in `{item.name}` is of the type `'{name}`", f"remove `'{name}`")

    def _is_alias(self, entry: TypeEntry, definition: tuple[s.ConstructorDeclaration, ...]) -> bool:
        """Return whether a name that could be a constructor is that of another type."""
        only = definition[0]
        if len(definition) > 1 or only.fields or only.name == entry.declaration.name:
            return False
        if not self.types.find(entry.module, only.name):
            return False
        entry.alias = s.TypeReference(only.name, span=only.span)
        return True

    def _define_constructors(self, entry: TypeEntry, definition: tuple[s.ConstructorDeclaration, ...]) -> None:
        shared: dict[str, t.DdlogType] = {}
        for place, item in enumerate(definition):
            name = entry.module.full(item.name)
            names = tuple(result.name for result in item.fields)
            types = tuple(self.type(result.type, entry.module, entry.parameters) for result in item.fields)
            for declared, type_ in zip(item.fields, types, strict=True):
                if shared.setdefault(declared.name, type_) != type_:
                    message = f"the field `{declared.name}` has another type in another constructor of the same type"
                    self.report(declared.span, message, "rename one of them")
            if len(set(names)) < len(names):
                self.report(item.span, f"`{item.name}` has two fields of one name", "rename one of them")
            if name in self.constructors.entries:
                self.report(item.span, f"the constructor `{name}` is declared twice", "rename one of them")
                continue
            constructor = _KNOWN_CONSTRUCTORS.get(name) or Constructor(name, names, place)
            result = ConstructorEntry(constructor, entry.name, types, item.span)
            self.constructors.entries[name] = result
            entry.constructors.append(result)

    def type(self, mention: s.TypeMention, module: Module, variables: Collection[str] | None) -> t.DdlogType:
        """Return the type that a mention means; errors are reported and yield `BROKEN`.

        Without `variables` all type variables are known.
        """
        match mention:
            case s.WidthType():
                if mention.kind == "signed" and mention.width not in _SIGNED:
                    message = f"there is no `signed<{mention.width}>`"
                    self.report(mention.span, message, "signed numbers have 8, 16, 32, 64 or 128 bits")
                return (t.Bit if mention.kind == "bit" else t.Signed)(mention.width)
            case s.TupleType():
                return t.Tuple(tuple(self.type(item, module, variables) for item in mention.items))
            case s.TypeVariableName():
                if variables is not None and mention.name not in variables:
                    hint = "type variables come from a type's or a function's parameters"
                    self.report(mention.span, f"the type variable `'{mention.name}` is not known here", hint)
                return t.TypeVariable(mention.name)
            case s.FunctionType():
                parameters = tuple(
                    t.FunctionParameter(self.type(p.type, module, variables), p.mutable) for p in mention.parameters
                )
                return t.CallableType(
                    parameters, self.type(mention.result, module, variables) if mention.result else t.UNIT
                )
            case s.TypeReference():
                return self._named(mention, module, variables)
        raise AssertionError(mention)

    def _named(self, mention: s.TypeReference, module: Module, variables: Collection[str] | None) -> t.DdlogType:
        if not mention.arguments and mention.name in _BUILT_IN:
            return _BUILT_IN[mention.name]
        report = partial(self.report, mention.span)
        entry = self.types.only(module, mention.name, "type", report, [*_BUILT_IN, "bit<32>"])
        if entry is None:
            return t.BROKEN
        arguments = tuple(self.type(argument, module, variables) for argument in mention.arguments)
        if len(arguments) != len(entry.parameters):
            wanted = len(entry.parameters)
            message = f"`{entry.name}` takes {wanted} type argument{'s' * (wanted != 1)}, and not {len(arguments)}"
            self.report(mention.span, message)
            return t.BROKEN
        return self._expanded(entry, arguments, mention)

    def _expanded(self, entry: TypeEntry, arguments: tuple[t.DdlogType, ...], mention: s.TypeReference) -> t.DdlogType:
        """Return the type that an alias stands for; any other one with its arguments."""
        definition = entry.declaration.definition
        if isinstance(definition, tuple) and not entry.constructors and len(definition) == 1:
            self._is_alias(entry, definition)
        aliased = definition if isinstance(definition, s.TypeMention) else entry.alias
        if aliased is None:
            return t.Named(entry.name, arguments)
        if entry.name in self._expanding:
            self.report(entry.declaration.span, f"the type `{entry.name}` stands for itself")
            return t.BROKEN
        self._expanding.append(entry.name)
        try:
            inside = self.type(aliased, entry.module, entry.parameters)
        finally:
            self._expanding.pop()
        return substitute(inside, dict(zip(entry.parameters, arguments, strict=True)))

    def struct(self, type_: t.Named) -> TypeEntry | None:
        """Return the declaration of a type with constructors."""
        entry = self.types.entries[type_.name]
        return entry if entry.constructors else None

    def fields(self, type_: t.Named, constructor: ConstructorEntry) -> tuple[t.DdlogType, ...]:
        """Return the types of a constructor's fields in a type."""
        given = dict(zip(self.types.entries[type_.name].parameters, type_.arguments, strict=True))
        return tuple(substitute(result, given) for result in constructor.fields)

    # --- functions and relations

    def _declare_others(self, module: Module) -> None:
        for item in module.syntax.items:
            if isinstance(item, s.FunctionDeclaration):
                self._declare_function(module, item)
            elif isinstance(item, s.RelationDeclaration):
                self._declare_relation(module, item)
            elif isinstance(item, s.Transformer):
                self.transformers.entries[module.full(item.name)] = item

    def _declare_function(self, module: Module, item: s.FunctionDeclaration) -> None:
        parameters = tuple(t.FunctionParameter(self.type(p.type, module, None), p.mutable) for p in item.parameters)
        result = self.type(item.result, module, None) if item.result else t.UNIT
        names = tuple(p.name for p in item.parameters)
        if len(set(names)) < len(names):
            self.report(item.span, f"`{item.name}` has two parameters of one name", "rename one of them")
        overloads = self.functions.entries.setdefault(module.full(item.name), [])
        found = Signature(module.full(item.name), len(overloads), names, parameters, result, item, module)
        same = [other for other in overloads if [p.type for p in other.parameters] == [p.type for p in parameters]]
        if same and same[0].result == result:
            self.report(item.span, f"the function `{found}` is declared twice", "remove one of them")
        overloads.append(found)

    def _declare_relation(self, module: Module, item: s.RelationDeclaration) -> None:
        name = module.full(item.name)
        if name in self.relations.entries:
            self.report(item.span, f"the relation `{name}` is declared twice", "rename one of them")
            return
        record = t.Named(name) if item.record is None else self.type(item.record, module, ())
        if item.by_reference:
            record = t.Named(_REFERENCE, (record,))
        if item.key and item.role != "input":
            self.report(item.key.span, "only input relations have primary keys", "remove the key")
            item = replace(item, key=None)
        self.relations.entries[name] = RelationEntry(name, record, item, module)


def _element(name: str, parameters: Sequence[str]) -> t.DdlogType | None:
    """Return what a loop over one of the library's collections gives."""
    variables = tuple(map(t.TypeVariable, parameters))
    if name in _COLLECTIONS:
        return variables[0]
    if name == "ddlog_std::Map":
        return t.Tuple(variables)
    return t.Tuple((variables[1], t.Signed(64))) if name == "ddlog_std::Group" else None


def _type_variables(mention: s.TypeMention) -> list[str]:
    return [node.name for node in nodes_in(mention) if isinstance(node, s.TypeVariableName)]
