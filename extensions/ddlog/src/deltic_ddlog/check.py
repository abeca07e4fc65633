"""From the text of a program to a checked one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltic.datalog.syntax.source import in_order
from deltic.errors import Diagnostic, ProgramError, did_you_mean
from deltic_ddlog import checked as c
from deltic_ddlog import syntax as s
from deltic_ddlog.compile import FunctionCompiler
from deltic_ddlog.declarations import Declarations, RelationEntry
from deltic_ddlog.depth import deep
from deltic_ddlog.functions import check_expression, check_function
from deltic_ddlog.infer_control import ExpressionInference
from deltic_ddlog.modules import Module, Text, load, within
from deltic_ddlog.rules import check_index, check_rule
from deltic_ddlog.types import DdlogType, Named
from deltic_ddlog.values import Constructor


@dataclass(frozen=True)
class ResolvedModules:
    """A whole program, in the order of its modules (libraries first) and of its text."""

    types: Mapping[str, c.TypeDefinition]
    relations: Mapping[str, c.ResolvedRelation]
    rules: Sequence[c.ResolvedRule]
    indexes: Mapping[str, c.Index]
    functions: FunctionCompiler

    def fields(self, type_: Named, constructor: Constructor) -> tuple[DdlogType, ...]:
        """Return the types of a constructor's fields in a type."""
        definition = self.types[type_.name]
        return definition.at(type_, dict(definition.constructors)[constructor])


def check(
    text: str,
    file: str = "<ddlog>",
    directories: Sequence[Path] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> ResolvedModules:
    """Return a program of DDlog with its modules, checked.

    Modules are sought in `directories`, in that order, and then in the library. `functions` are those of Python behind
    the program's own extern functions, by their names in lower case.

    Raises ProgramError with a finding for each declaration and rule that is wrong.
    """
    with deep():
        try:
            return _checked(load(Text(text, file), within(directories)), functions or {})
        except RecursionError:
            message = "the program is nested too deeply"
            raise ProgramError([Diagnostic(message, file, hint="compute parts of expressions as variables")]) from None


def check_again(program: c.ResolvedProgram) -> ResolvedModules:
    """Return the program of data that come from another process."""
    with deep():
        texts = dict(program.texts)
        return _checked(load(texts[""], texts.get), program.functions)


def _checked(modules: Sequence[Module], functions: Mapping[str, Callable[..., Any]]) -> ResolvedModules:
    declarations = Declarations(modules)
    findings = declarations.findings
    compiler = FunctionCompiler(declarations, functions)
    _check_functions(declarations, compiler, findings)
    relations = {
        name: _relation(declarations, entry, findings) for name, entry in declarations.relations.entries.items()
    }
    rules, indexes = list[c.ResolvedRule](), dict[str, c.Index]()
    for module in modules:
        for item in module.syntax.items:
            if isinstance(item, s.RuleItem) and (rule := check_rule(declarations, module, item, findings)):
                rules.append(rule)
            elif isinstance(item, s.IndexDeclaration):
                if result := check_index(declarations, module, item, findings):
                    indexes[result.name] = result
            elif isinstance(item, s.ApplyItem):
                _refuse(declarations, module, item)
    findings += [finding for rule in rules for finding in _streams(relations, rule)]
    if findings:
        raise ProgramError(in_order(findings))
    compiler.rules = rules
    return ResolvedModules(compiler.types, relations, rules, indexes, compiler)


def _check_functions(declarations: Declarations, compiler: FunctionCompiler, findings: list[Diagnostic]) -> None:
    """The program's functions; those of libraries are checked when they are called."""
    for signatures in declarations.functions.entries.values():
        for signature in signatures:
            if signature.declaration.body is not None and not signature.module.is_library:
                body = check_function(declarations, signature, findings)
                if body:
                    compiler.bodies[signature.name, signature.number] = body


def _relation(declarations: Declarations, entry: RelationEntry, findings: list[Diagnostic]) -> c.ResolvedRelation:
    item = entry.declaration
    key = None
    if item.key:
        inference = ExpressionInference(declarations, entry.module)
        name = inference.declare(item.key.variable, entry.record, mutable=False).name
        typed = inference.infer(item.key.expression)
        inference.solve()
        if not inference.findings:
            key = c.PrimaryKey(name, typed.build())
            inference.findings += check_expression(declarations, key.expression, {name: False})
        findings += inference.findings
    originals = [
        a.value.value for a in item.attributes if a.name == "original" and isinstance(a.value, s.StringExpression)
    ]
    original = originals[0] if originals else None
    return c.ResolvedRelation(entry.name, entry.record, item.role, item.semantics, key, item.span, original)


def _streams(relations: Mapping[str, c.ResolvedRelation], rule: c.ResolvedRule) -> Iterator[Diagnostic]:
    """A relation derived from a stream is a stream: its rows last one transaction."""
    atoms, of_stream = [clause for clause in rule.body if isinstance(clause, c.MatchStep | c.AbsentStep)], False
    for atom in atoms:
        is_stream = relations[atom.relation].semantics == "stream"
        of_stream |= is_stream and not atom.differentiated
        if of_stream and isinstance(atom, c.AbsentStep):
            message = "`not` is for relations, and the records of a stream before it or in it go"
            yield atom.span.error(message, "differentiate the stream: `S'(...)`")
        if atom.differentiated and not is_stream:
            message = f"`'` is what is new of a stream, and {atom.relation} is a {relations[atom.relation].semantics}"
            yield atom.span.error(message, f"declare it as a stream, or read `{atom.relation}`")
        if atom.differentiated or not is_stream:
            continue
        for head in rule.heads:
            if (semantics := relations[head.relation].semantics) != "stream":
                message = f"{head.relation} is a {semantics}, and the records of the stream {atom.relation} go"
                yield head.span.error(message, f"declare it as a stream, or read `{atom.relation}'`")


def _refuse(declarations: Declarations, module: Module, item: s.ApplyItem) -> None:
    names = declarations.transformers
    if names.find(module, item.transformer):
        message = f"the transformer `{item.transformer}` is written in Rust, and cannot be applied"
        declarations.report(item.span, message, "write its rules: recursive ones may use negation and groups of others")
    else:
        hint = did_you_mean(item.transformer, names.visible(module))
        declarations.report(item.span, f"there is no transformer `{item.transformer}`", hint)
