"""Plans a text of SQL: all of it is checked first, and becomes steps that are run in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from deltic.catalog import Catalog, CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit
from deltic.collecting import RareCollections
from deltic.engine.batches import TableBatch
from deltic.errors import DelticError, ProgramError
from deltic.pipeline.definitions.by_sql import completed, defining
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.sql.answers import (
    TextAnswer,
    column_table,
    details_table,
    function_table,
    listed_table,
    names_table,
    relations_table,
    schema_table,
    statement_of,
)
from deltic.pipeline.sql.prepared import OpenPlan, ParameterValues, PlannedQuery, is_plain
from deltic.sql.names import find_name
from deltic.sql.queries import answer_circuit
from deltic.sql.scalars.functions.python import knowing
from deltic.sql.scalars.functions.written import known
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.effects import effect_of
from deltic.sql.statements.ordering import KEY, Key, ordered
from deltic.sql.statements.parameters import Args, lifted
from deltic.sql.statements.parse import parse
from deltic.sql.statements.program import FRONT
from deltic.sql.statements.reading import split
from deltic.sql.statements.statements import (
    AlterTable,
    Change,
    CreateTable,
    CreateTableAs,
    Defining,
    Describe,
    Explain,
    OfSession,
    Question,
    Select,
    Show,
    Statement,
    TransactionBracket,
)
from deltic.sql.text import SourceText
from deltic.sql.types import check_order
from deltic.sql.variables import Variables, keeping, knowing_variables
from deltic.values.types import Column, Schema

ANSWER = "the answer"
"""The view that a query by itself is."""

_PREPARED = {"INSERT", "UPDATE", "DELETE", "SELECT", "MERGE"}
_PREPARABLE = {*_PREPARED, "WITH", "VALUES"}
_MOST, _LONGEST = 256, 4096
"""How many plans of texts of this length are kept."""


@dataclass(frozen=True)
class Explained:
    """A view by its name, or a query as a view, whose maintenance is explained."""

    subject: str | ViewDefinitions
    extended: bool


@dataclass(frozen=True)
class ExplainedRows:
    """A query whose rows are explained, or their absence."""

    definition: ViewDefinitions
    kind: str


Step = Definitions | Effect | PlannedQuery | Explained | ExplainedRows | TransactionBracket | Rows
"""Definitions to go on with, a change of a table, what begins or ends a transaction, or a question; or its answer."""


@dataclass(frozen=True)
class PlannedText:
    """What a text of SQL does, checked as a whole after definitions."""

    steps: Sequence[Step]
    definitions: Definitions

    @property
    def only_changes(self) -> bool:
        """Whether each statement changes a table."""
        return bool(self.steps) and all(isinstance(step, Effect) for step in self.steps)

    @property
    def changes(self) -> list[Effect]:
        """The changes of tables, in order."""
        return [step for step in self.steps if isinstance(step, Effect)]

    def refuse_brackets(self) -> None:
        """Raise ProgramError for BEGIN, COMMIT and ROLLBACK."""
        for step in self.steps:
            if isinstance(step, TransactionBracket):
                message = "no transaction is begun or ended here: all changes of one text are one"
                raise step.error(message, "leave it out; a client of PostgreSQL's protocol may keep one open")

    @property
    def only_asks(self) -> bool:
        """Whether each statement is a question."""
        return all(isinstance(step, PlannedQuery | Explained | ExplainedRows | Rows) for step in self.steps)


@RareCollections()
def planned(
    text: str, file: str, definitions: Definitions, args: Args | None = None, outside: bool = True
) -> list[Step]:
    """Return the steps that a text's statements take after definitions. Definitions that stand together are one step.

    Each statement sees the definitions before it; without `outside` none may make a table whose rows are elsewhere.
    Raises ProgramError or CatalogError for the first one that is wrong.
    """
    with knowing_variables(definitions.variables):
        return list(_planned(text, file, definitions, args, outside))


def _planned(text: str, file: str, definitions: Definitions, args: Args | None, outside: bool) -> Iterator[Step]:
    if (known := kept_plan(text, file, definitions, args)) is not None:
        yield known
        return
    begun = definitions
    written = completed(text, file, definitions, args, outside)[1]
    for statement in (part for whole in written for part in _parts(whole, definitions)):
        if isinstance(statement, Defining):
            if _begins_anew(statement, begun, definitions):
                _check(definitions)
                yield definitions
                begun = definitions
            with keeping():
                definitions = defining(definitions, statement)
            continue
        if isinstance(statement, OfSession):
            message = "variables, settings and EXECUTE IMMEDIATE belong to a session, and this is shared by many"
            raise statement.error(message, "pipeline.sql and deltic sql take them; here, use parameters")
        _check(definitions)
        catalog = definitions.catalog
        if definitions is not begun:
            yield definitions
            begun = definitions
        with knowing(definitions.functions, definitions.sql.functions):
            step = statement if isinstance(statement, TransactionBracket) else step_of(statement, catalog)
        yield step
    if definitions is not begun:
        _check(definitions)
        yield definitions


def _check(definitions: Definitions) -> None:
    """Raise ProgramError or CatalogError where definitions are wrong, or name variables, which they outlive."""
    with keeping():
        definitions.check()


def effects(text: str, file: str, definitions: Definitions, args: Args | None = None) -> list[Effect]:
    """Return what a text's statements change in tables; raises ProgramError for one that changes none."""
    if isinstance(kept := kept_plan(text, file, definitions, args), Effect):
        return [kept]
    result = []
    with knowing(definitions.functions, definitions.sql.functions), knowing_variables(definitions.variables):
        for statement in parse(text, file, args):
            if not isinstance(statement, Change):
                message = "a transaction takes INSERT, DELETE, UPDATE and MERGE"
                raise statement.error(message, "pipeline.query takes questions, pipeline.sql any statement")
            result.append(_effect(statement, definitions.catalog))
    return result


def asked(
    text: str, file: str, definitions: Definitions, args: Args | None = None
) -> PlannedQuery | ExplainedRows | Rows:
    """Return the last of a text's questions about rows and definitions; raises ProgramError for another statement."""
    if isinstance(kept := kept_plan(text, file, definitions, args), PlannedQuery):
        return kept
    steps = []
    with knowing(definitions.functions, definitions.sql.functions), knowing_variables(definitions.variables):
        for statement in parse(text, file, args):
            is_of_rows = isinstance(statement, Explain) and statement.of_rows
            if not is_of_rows and not isinstance(statement, Select | Show | Describe):
                message = "a question is SELECT, SHOW or DESCRIBE"
                raise statement.error(message, "pipeline.execute takes changes, pipeline.sql any statement")
            steps.append(step_of(statement, definitions.catalog))
    result = steps[-1] if steps else _rows(relations_table(definitions.catalog, "table"))
    assert isinstance(result, PlannedQuery | ExplainedRows | Rows)
    return result


def asked_query(
    query: exp.Expression, source: SourceText, definitions: Definitions, variables: Variables
) -> PlannedQuery:
    """Return the plan of a query without an ORDER BY of its own, with these variables. Raises ProgramError."""
    with knowing(definitions.functions, definitions.sql.functions), knowing_variables(variables):
        return _answer(query, definitions.catalog, source)


def keeps_plan(text: str, file: str, definitions: Definitions, args: Args | None) -> bool:
    """Return whether a text is planned once for all values of the types of these."""
    return kept_plan(text, file, definitions, args) is not None


def check_preparable(text: str, file: str) -> None:
    """Raise ProgramError unless a text is one INSERT, UPDATE, DELETE, MERGE or SELECT, by its first word."""
    source = SourceText(text, file)
    statements = split(source)
    if len(statements) != 1 or statements[0][0].text.upper() not in _PREPARABLE:
        place = statements[min(1, len(statements) - 1)][0] if statements else None
        message = "a prepared statement is one INSERT, UPDATE, DELETE, MERGE or SELECT"
        hint = "pipeline.sql runs other statements, and several"
        raise ProgramError([source.at(place.start if place else 0, place.end + 1 if place else 0, message, hint)])


def kept_plan(text: str, file: str, definitions: Definitions, args: Args | None) -> Effect | PlannedQuery | None:
    """Return the plan of a text that is one change or query, made once for these definitions; None where none is kept.

    Literals of a text without parameters are values of parameters where that is possible.
    """
    if len(text) > _LONGEST or text.lstrip()[:6].strip().upper() not in _PREPARED:
        return None
    without = lifted(text) if args is None else None
    known = None if without is None else _kept_of_values(without[0], file, definitions, without[1])
    return _kept_of_values(text, file, definitions, args) if known is None else known


def _kept_of_values(text: str, file: str, definitions: Definitions, args: Args | None) -> Effect | PlannedQuery | None:
    """As `kept_plan`, of parameters alone."""
    bindings = ParameterValues.of(args)
    if bindings is None:
        return None
    key, plans = (text, file, bindings.kinds), definitions.plans
    kept = plans.get(key)
    if kept is None:
        if len(plans) >= _MOST:
            plans.clear()
        kept = plans[key] = (_planned_with(bindings, text, file, definitions),)
    (plan,) = kept
    return plan.bound(bindings.values) if isinstance(plan, OpenPlan) else plan


def _planned_with(
    bindings: ParameterValues, text: str, file: str, definitions: Definitions
) -> Effect | PlannedQuery | OpenPlan | None:
    """Return the plan with the stand-ins of parameters; None where values decide about it, or the text is wrong."""
    if any(str(each) in text for each in bindings.values):
        return None
    try:
        with knowing(definitions.functions, definitions.sql.functions), knowing_variables({}):
            statements = parse(text, file, bindings.stand_ins)
            if len(statements) != 1 or not is_plain(statements[0], bindings.values):
                return None
            step = step_of(statements[0], definitions.catalog)
    except DelticError:
        return None
    assert isinstance(step, Effect | PlannedQuery)
    if isinstance(step, Effect) and len(step.definitions) > 1:
        views = tuple(view for definition in step.definitions for view in definition.views)
        step = replace(step, definitions=(ViewDefinitions(views, circuit_of(step.definitions)),))
    return OpenPlan.of(step, bindings.values) if bindings.values else step


def _parts(statement: Statement, now: Definitions) -> Iterator[Statement]:
    """Yield the statements that one stands for, after the present definitions."""
    if not isinstance(statement, CreateTableAs):
        yield statement
        return
    catalog = now.catalog
    if statement.unless_there and any(name.lower() == statement.name.name.lower() for name in catalog.relations):
        return
    with knowing(now.functions, now.sql.functions):
        answer = _answer(statement.query, catalog, statement.source)
    (view,) = answer.definition.views
    schema = Schema(tuple(Column(n, column.type, True) for n, column in zip(answer.names, view.schema, strict=True)))
    yield from parse(statement.declared(schema), statement.source.file)
    yield statement.inserted


def _begins_anew(statement: Statement, begun: Definitions, now: Definitions) -> bool:
    """Return whether definitions before a statement are a step of their own.

    Where a table is made that was dropped just before, its rows have to go first; tables are altered one by one.
    """
    if isinstance(statement, AlterTable):
        return now is not begun
    if not isinstance(statement, CreateTable):
        return False
    name = statement.table.name
    return name in begun.catalog.tables and name not in now.catalog.tables


def step_of(statement: Statement, catalog: Catalog) -> Step:
    """Return what a change or a question does."""
    if isinstance(statement, Change):
        return _effect(statement, catalog)
    assert isinstance(statement, Question)
    match statement:
        case Select():
            query, keys = ordered(statement.query, statement.source)
            answer = _answer(query, catalog, statement.source)
            type_ = answer.definition.views[0].type
            order: dict[int, Key] = {}
            for key in keys:
                for position in key.positions(answer.names, statement.source):
                    check_order(type_.schema.columns[position].type, key.node, "ORDER BY", statement.source)
                    order.setdefault(position, key)
            collated = [place for place in order if type_.schema.names[place] in dict(type_.collations)]
            if collated:
                answer = _answer(query, catalog, statement.source, collated)
                moved = {place: len(type_.schema) + number for number, place in enumerate(collated)}
                order = {moved.get(place, place): key for place, key in order.items()}
            return replace(answer, order=order or answer.order)
        case Explain() if statement.of_rows:
            return ExplainedRows(_answer(statement.subject, catalog, statement.source).definition, statement.of_rows)
        case Explain():
            return _explained(statement, catalog)
        case Show(name=None):
            return _rows(listed_table(statement, catalog, known().values()))
        case Describe(is_function=True):
            assert isinstance(statement.subject, exp.Identifier)
            name = find_name(statement.subject, "function of SQL", known(), statement.source)
            return _rows(function_table(known()[name], statement.extended))
        case Describe(subject=exp.Query()):
            answer = _answer(statement.subject, catalog, statement.source)
            return _rows(schema_table(answer.definition.views[0].type, answer.names))
        case Show() | Describe():
            return _described(statement, catalog)


def _effect(statement: Change, catalog: Catalog) -> Effect:
    return effect_of(statement, catalog.shown_tables, _readable(catalog))


def _explained(statement: Explain, catalog: Catalog) -> Explained:
    subject, source = statement.subject, statement.source
    if isinstance(subject, exp.Identifier):
        return Explained(find_name(subject, "view", catalog.views, source), statement.extended)
    return Explained(_answer(subject, catalog, source).definition, statement.extended)


def _described(statement: Show | Describe, catalog: Catalog) -> Rows:
    subject = statement.name if isinstance(statement, Show) else statement.subject
    assert isinstance(subject, exp.Identifier)
    name = find_name(subject, "table or view", _readable(catalog), statement.source)
    if isinstance(statement, Show) and statement.what == "create":
        return TextAnswer("createtab_stmt", statement_of(catalog, name))
    if isinstance(statement, Show) and statement.what == "properties":
        return _rows(pa.table({"key": pa.array([], pa.string()), "value": pa.array([], pa.string())}))
    type_ = catalog.relations[name]
    names = type_.schema.names
    if isinstance(statement, Show):
        return _rows(names_table(type_.schema))
    if statement.column is not None:
        return _rows(column_table(type_, find_name(statement.column, "column", names, statement.source)))
    columns = schema_table(type_, names)
    return _rows(pa.concat_tables([columns, details_table(catalog, name)]) if statement.extended else columns)


def _answer(query: exp.Expression, catalog: Catalog, source: SourceText, ordered: Sequence[int] = ()) -> PlannedQuery:
    """Return the plan of a query without an ORDER BY over what can be read; of `ordered` see `answer_circuit`."""
    circuit, words, type_, names, given = answer_circuit(query, _readable(catalog), ANSWER, source, ordered)
    order = {place: Key(place, by.descending, by.nulls_first, query) for place, by in given}
    shown = [*names, *(KEY for _ in ordered)]
    return PlannedQuery(ViewDefinitions((CatalogView(ANSWER, type_),), circuit, words), shown, order)


def circuit_of(definitions: Sequence[ViewDefinitions]) -> Circuit:
    """Return the circuit of definitions by themselves: what they read of others are its tables."""
    own = {name for definition in definitions for name in definition.names}
    sources = {name: type_ for d in definitions for name, type_ in d.sources.items() if name not in own}
    tables = [CatalogTable(name, type_.schema, is_bag=not type_.is_set) for name, type_ in sources.items()]
    return Catalog((FrontEndDefinitions(FRONT, tables, definitions),)).circuit


def _readable(catalog: Catalog) -> dict[str, ZSetType]:
    """Return the tables and views that are not hidden."""
    hidden = catalog.tables.keys() - catalog.shown_tables.keys()
    hidden |= catalog.views.keys() - catalog.view_schemas.keys()
    return {name: type_ for name, type_ in catalog.relations.items() if name not in hidden}


def _rows(table: pa.Table) -> Rows:
    return Rows(TableBatch(table))
