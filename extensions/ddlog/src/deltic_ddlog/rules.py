"""Checking of rules: clauses from left to right, each of which may bind variables for those after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from deltic.datalog.syntax.expressions import SyntaxNode, nodes_in, transform
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic
from deltic_ddlog import checked as c
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.declarations import ConstructorEntry, Declarations, RelationEntry
from deltic_ddlog.functions import check_expression
from deltic_ddlog.infer_control import ExpressionInference
from deltic_ddlog.infer_patterns import PatternOf
from deltic_ddlog.inference import InferredExpression, InferredPattern
from deltic_ddlog.modules import Module
from deltic_ddlog.types import BOOL, Bit, Named, Signed, content

_GROUP = "ddlog_std::Group"

Built = Callable[[], list[c.Clause]]


def check_rule(
    declarations: Declarations, module: Module, rule: s.RuleItem, findings: list[Diagnostic]
) -> c.ResolvedRule | None:
    """Return the rule with types; None, and findings, where something is wrong."""
    inference = _RuleInference(declarations, module)
    for clause in rule.body:
        inference.clause(clause)
    heads = [inference.head(head) for head in rule.heads]
    inference.solve()
    if not inference.findings:
        built = tuple(clause for build in inference.built for clause in build())
        made = c.ResolvedRule(tuple(head() for head in heads), built, span=rule.span)
        for expression in made.expressions:
            inference.findings += check_expression(declarations, expression, {})
        if not inference.findings:
            return made
    findings += inference.findings
    return None


def check_index(
    declarations: Declarations, module: Module, item: s.IndexDeclaration, findings: list[Diagnostic]
) -> c.Index | None:
    """Return an index: its parameters are what its pattern binds."""
    inference = _RuleInference(declarations, module)
    parameters = [(p.name, inference.type(p.type)) for p in item.parameters]
    result = inference.atom_pattern(item.atom)
    for (name, type_), declared in zip(parameters, item.parameters, strict=True):
        local = inference.local(name)
        if local is None:
            inference.report(
                declared.span, f"the pattern does not say where `{name}` is", f"name it in `{item.atom.relation}(...)`"
            )
        else:
            inference.require(declared.span, local.type, type_)
    for name in inference.locals():
        if name not in dict(parameters):
            inference.report(
                item.atom.span, f"`{name}` is no parameter of the index", "write `_` for what may be anything"
            )
    inference.solve()
    if result is None or inference.findings:
        findings += inference.findings
        return None
    entry, pattern, _ = result
    return c.Index(module.full(item.name), tuple(parameters), entry.name, pattern.build(), span=item.span)


class _RuleInference(ExpressionInference):
    """Infers one rule."""

    def __init__(self, declarations: Declarations, module: Module) -> None:
        super().__init__(declarations, module)
        self.built: list[Built] = []

    # --- atoms

    def relation(self, atom: s.AtomClause) -> RelationEntry | None:
        """Return the relation that an atom names."""
        relations, report = self.declarations.relations, partial(self.report, atom.span)
        return relations.only(self.module, atom.relation, "relation", report)

    def _constructor(self, atom: s.AtomClause, entry: RelationEntry) -> ConstructorEntry | None:
        """Return the constructor whose fields are an atom's arguments: that of the relation's name, or the only one."""
        chosen = self._chosen(entry)
        if chosen is None:
            message = f"records of `{atom.relation}` are of type `{entry.record}`, and have no arguments"
            self.report(atom.span, message, f"write `{atom.relation}[...]`")
        return chosen

    def _chosen(self, entry: RelationEntry) -> ConstructorEntry | None:
        made = self._constructors(entry)
        named = [each for each in made if each.constructor.name == entry.name]
        return named[0] if named else made[0] if len(made) == 1 else None

    def _constructors(self, entry: RelationEntry) -> list[ConstructorEntry]:
        record = content(entry.record)
        result = self.declarations.struct(record) if isinstance(record, Named) else None
        return result.constructors if result else []

    def atom_pattern(
        self, atom: s.AtomClause, *, negated: bool = False
    ) -> tuple[RelationEntry, InferredPattern, PatternOf] | None:
        """Return the pattern that records have, and what it binds; after `not` the name of the record says nothing."""
        entry = self.relation(atom)
        if entry is None:
            PatternOf(self, "rule").bind_all(atom.arguments or ())
            return None
        if atom.location is not None:
            self.report(atom.location.span, "only heads have places", "remove `@`")
        pattern = PatternOf(self, "rule")
        name = pattern.declare(atom.variable, entry.record) if atom.variable and not negated else None
        inside = self._record_pattern(atom, entry, pattern)
        if inside is None:
            return None
        if name is None:
            return entry, inside, pattern
        return entry, self.made(core.As, atom.span, entry.record, name, inside), pattern

    def _record_pattern(self, atom: s.AtomClause, entry: RelationEntry, pattern: PatternOf) -> InferredPattern | None:
        if atom.record is not None:
            record = content(entry.record) if atom.by_reference else entry.record
            return pattern.of(atom.record, record)
        if not atom.arguments and atom.variable is not None:
            return self.made(core.Anything, atom.span, entry.record)
        constructor = self._constructor(atom, entry)
        if constructor is None:
            return None
        own = content(entry.record)
        assert isinstance(own, Named)
        return pattern.of_fields(atom, own, constructor, atom.arguments or (), atom.relation)

    def head(self, atom: s.AtomClause) -> Callable[[], c.Head]:
        """Return what is derived."""
        entry = self.relation(atom)
        if atom.location is not None:
            message = "rules that say where their results go are not supported"
            self.report(atom.location.span, message, "remove `@` and what follows it")
        if atom.delay or atom.differentiated:
            self.report(atom.span, "a head has no delay", f"write `{atom.relation}(...)`")
        typed = self._head_record(atom, entry) if entry else self.broken(atom.span)
        name = entry.name if entry else atom.relation
        return lambda: c.Head(name, typed.build(), span=atom.span)

    def _head_record(self, atom: s.AtomClause, entry: RelationEntry) -> InferredExpression:
        """Return the fields of a record, or `R[record]`; one argument is the record, unless records have one field."""
        if atom.record is not None:
            record = content(entry.record) if atom.by_reference else entry.record
            return self.expect(atom.record, record)
        arguments, chosen = atom.arguments or (), self._chosen(entry)
        is_struct = chosen is None or len(chosen.fields) != 1
        if is_struct and self._constructors(entry) and len(arguments) == 1 and arguments[0].name is None:
            return self.expect(arguments[0].value, content(entry.record))
        constructor = self._constructor(atom, entry)
        if constructor is None:
            return self.broken(atom.span)
        made = self.construct(atom, atom.relation, constructor, arguments)
        self.require(atom.span, made.type, content(entry.record))
        return made

    # --- clauses

    def clause(self, clause: s.Clause) -> None:
        """The next clause of the body."""
        match clause:
            case s.LiteralClause():
                self._literal(clause)
            case s.ConditionClause():
                self._condition(clause)
            case s.FlatMapClause():
                self._flat_map(clause)
            case s.AggregateClause():
                self._aggregate(clause)
            case s.InspectClause():
                self._inspect(clause)

    def _literal(self, clause: s.LiteralClause) -> None:
        atom, span = clause.atom, clause.span
        result = self.atom_pattern(atom, negated=clause.negated)
        if result is None:
            return
        entry, pattern, bindings = result
        if clause.negated:
            for name in sorted(bindings.bound):
                message = f"`{name}` is not known here, and `not` binds nothing"
                self.report(span, message, f"bind `{name}` before, or write `_` where it may be anything")
        step = c.AbsentStep if clause.negated else c.MatchStep
        self.built.append(lambda: [step(entry.name, pattern.build(), atom.delay, atom.differentiated, span=span)])

    def _condition(self, clause: s.ConditionClause) -> None:
        expression, span = self._grouped(clause.expression), clause.span
        if not isinstance(expression, s.Assign):
            condition = self.expect(expression, BOOL)
            self.built.append(lambda: [c.ConditionStep(condition.build(), span=span)])
            return
        value = self.infer(expression.value)
        self._assign(expression.target, value, span)

    def _assign(self, target: s.ParsedExpression, value: InferredExpression, span: Span) -> None:
        pattern = PatternOf(self, "rule").of(target, value.type)
        self.built.append(lambda: [c.AssignmentStep(pattern.build(), value.build(), span=span)])

    def _flat_map(self, clause: s.FlatMapClause) -> None:
        items = self.infer(self._grouped(clause.items))
        element = self.element_of(clause.items.span, items.type)
        pattern = PatternOf(self, "rule").of(clause.pattern, element)
        self.built.append(lambda: [c.FlatMapStep(pattern.build(), items.build(), span=clause.span)])

    def _inspect(self, clause: s.InspectClause) -> None:
        with self.scope():
            self.let("ddlog_weight", Signed(64))
            self.let("ddlog_timestamp", Bit(64))
            typed = self.infer(clause.expression)
        self.built.append(lambda: [c.InspectStep(typed.build(), span=clause.span)])

    # --- groups

    def _grouped(self, expression: s.ParsedExpression) -> s.ParsedExpression:
        """Return the expression with a variable for the group that it makes, which is a clause of its own."""
        calls = [node for node in nodes_in(expression) if _is_group_by(node)]
        if not calls:
            return expression
        call = calls[0]
        assert isinstance(call, s.CallExpression)
        if len(calls) > 1:
            self.report(calls[1].span, "a clause makes one group", "put the other one into a rule of its own")
        if len(call.arguments) != 2:
            self.report(call.span, "`group_by` takes what to group by", "write `value.group_by((x, y))`")
            return expression
        group = self._group(call.arguments[0], call.arguments[1], call.span)
        return transform(expression, lambda node: group if node == call else node)

    def _aggregate(self, clause: s.AggregateClause) -> None:
        """The older form: `Aggregate((x), f(y))` is `y.group_by(x).f()`."""
        function = clause.function
        if not isinstance(function, s.CallExpression) or not function.arguments:
            self.report(function.span, "a function of a value is expected here", "write `group_sum(x)`")
            return
        group = self._group(function.arguments[0], clause.keys, clause.span)
        value = self.infer(replace(function, arguments=(group, *function.arguments[1:])))
        self._assign(clause.pattern, value, clause.span)

    def _group(self, values: s.ParsedExpression, key: s.ParsedExpression, span: Span) -> s.NameExpression:
        """Group, and forget all variables that the key does not name."""
        typed, by = self.infer(values), self.infer(key)
        if not _is_key(key):
            hint = "compute it before, as `var k = ...`, and write `group_by(k)`"
            self.report(key.span, "groups are made by variables, and tuples of variables", hint)
        names = [node.name for node in nodes_in(key) if isinstance(node, s.NameExpression) and self.local(node.name)]
        kept = [local.name for name in dict.fromkeys(names) if (local := self.local(name))]
        self.forget_all_but(names)
        type_ = Named(_GROUP, (by.type, typed.type))
        source_name = f"__group{len(self.built)}"
        local = self.declare(source_name, type_, mutable=False)

        def build() -> list[c.Clause]:
            known = self.known(type_)
            return [c.GroupBy(local.name, known, typed.build(), by.build(), tuple(kept), span=span)]

        self.built.append(build)
        return s.NameExpression(source_name, span=span)


def _is_key(node: s.ParsedExpression) -> bool:
    match node:
        case s.TupleExpression(items=items):
            return all(map(_is_key, items))
        case s.Construct(arguments=arguments):
            return all(_is_key(argument.value) for argument in arguments)
        case s.Ascription(of=of):
            return _is_key(of)
    return isinstance(node, s.NameExpression | s.BoolLiteral | s.IntLiteral | s.StringExpression)


def _is_group_by(node: SyntaxNode) -> bool:
    return (
        isinstance(node, s.CallExpression)
        and isinstance(node.callee, s.NameExpression)
        and node.callee.name == "group_by"
    )
