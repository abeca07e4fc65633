"""The query of a DataFrame of Spark as a text of SQL, read from the plan that Spark has analyzed.

Each operator of the plan is a SELECT from those below it. Columns have numbers, so that no two columns of a query have
the same name; Spark itself writes the expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltic.engine.executors.spark.job_descriptions import is_connect
from deltic.errors import CatalogError
from deltic.pipeline.spark.plan_errors import PlanErrors
from deltic.pipeline.spark.spark import quoted
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_JOINS = {
    "Inner": "JOIN",
    "Cross": "CROSS JOIN",
    "LeftOuter": "LEFT JOIN",
    "RightOuter": "RIGHT JOIN",
    "FullOuter": "FULL JOIN",
    "LeftSemi": "LEFT SEMI JOIN",
    "LeftAnti": "LEFT ANTI JOIN",
}
# What changes no rows, and is passed over. A view has no order: only that of a limit counts.
_PASSED = (
    *("SubqueryAlias", "View", "ResolvedHint", "Repartition", "RepartitionByExpression", "RebalancePartitions", "Sort"),
    *("LocalLimit", "EventTimeWatermark"),
)
_CALLS = {
    "Deduplicate": "dropDuplicates of some columns",
    "Sample": "sample, which takes other rows where they lie otherwise,",
    "MapInPandas": "mapInPandas",
    "PythonMapInArrow": "mapInArrow",
    "MapInArrow": "mapInArrow",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapCoGroupsInPandas": "applyInPandas",
    "Offset": "offset",
    "Tail": "tail",
    "Unpivot": "unpivot",
}

# The calls of which Spark keeps what they compute as children, and what was called beside it: those that it does not
# write as a call.
_FORMS = {"between": "({} BETWEEN {} AND {})", "extract": "date_part({}, {})"}
_LIKES = {"LikeAny": "LIKE ANY", "LikeAll": "LIKE ALL", "NotLikeAny": "NOT LIKE ANY", "NotLikeAll": "NOT LIKE ALL"}
_CALLED = "org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules"
_STAND_IN = re.compile(r"deltic_text_(\d+)")


def query_of(frame: DataFrame, view: str, relations: Mapping[str, Schema]) -> str:
    """Return the query whose rows a DataFrame has, over tables and views of a pipeline.

    What stands under the name of one of the `relations` in the plan is that one: a view or table of Spark, or a
    DataFrame with that alias. Raises CatalogError if it is not supported, or reads other rows.
    """
    errors, session = PlanErrors(view, relations), frame.sparkSession
    if str(session.conf.get("spark.sql.ansi.enabled")).lower() != "true":
        raise errors.error(
            "views compute as Spark does in ANSI mode, which this session has switched off; set "
            "spark.sql.ansi.enabled to true"
        )
    if is_connect(frame):
        from deltic.pipeline.spark.connect_plans import connect_query_of

        return connect_query_of(frame, errors)
    jvm: Any = session._jvm
    reader = _PlanReader(errors, jvm)
    plan = frame._jdf.queryExecution().analyzed()
    query, columns = reader.query(plan), zip(_each(plan.output()), frame.columns, strict=True)
    names = ", ".join(f"{reader.called(attribute)} AS {quoted(name)}" for attribute, name in columns)
    return f"SELECT {names} FROM ({query})"


class _PlanReader:
    """Reads the plan of one view."""

    def __init__(self, errors: PlanErrors, jvm: Any) -> None:
        spark = jvm.org.apache.spark
        self._errors, self._to_seq = errors, spark.api.python.PythonUtils.toSeq
        self._call_class = jvm.java.lang.Class.forName(_CALLED)
        self._expressions, self._no_metadata = spark.sql.catalyst.expressions, spark.sql.types.Metadata.empty()
        self._numbers: dict[int, int] = {}
        self._texts: list[str] = []

    def called(self, attribute: Any) -> str:
        """Return the name of a column: Spark's numbers differ from session to session, these do not."""
        return f"c{self._numbers.setdefault(attribute.exprId().id(), len(self._numbers))}"

    def query(self, plan: Any) -> str:
        """Return the SELECT of a plan, whose columns are its attributes by their numbers."""
        if (relation := self._relation(plan)) is not None:
            return relation
        kind, below = _kind(plan), [*_each(plan.children())]
        if kind in _PASSED:
            return self.query(below[0])
        read = _READERS.get(kind)
        if read is None or (result := read(self, plan, below)) is None:
            raise self._refused(kind, below)
        return result

    def _refused(self, kind: str, below: Sequence[Any]) -> CatalogError:
        call = _CALLS.get(kind, f"Spark’s operator {kind}")
        return self._errors.unsupported(call) if below else self._errors.from_elsewhere()

    def _relation(self, plan: Any) -> str | None:
        """Return the rows of a relation of the pipeline, where the plan stands for one by its name; else None."""
        relation = self._errors.relation(plan.alias()) if _kind(plan) == "SubqueryAlias" else None
        if relation is None:
            return None
        (inside,) = _each(plan.children())
        while _kind(inside) == "SubqueryAlias":
            (inside,) = _each(inside.children())
        if [*_each(inside.children())] and _kind(inside) != "View":
            return None
        name, schema = relation
        attributes = [*_each(plan.output())]
        self._errors.check_columns(name, schema, [attribute.name() for attribute in attributes])
        columns = ", ".join(f"{quoted(a.name())} AS {self.called(a)}" for a in attributes)
        return f"SELECT {columns or 1} FROM {quoted(name)}"

    def written(self, expression: Any) -> str:
        """Return an expression, as Spark writes it, over numbered columns."""
        text = str(self._numbered(expression).sql())
        return _STAND_IN.sub(lambda found: self._texts[int(found[1])], text)

    def _text(self, text: str, expression: Any) -> Any:
        """Return a column that stands for a text while Spark writes what is around it."""
        self._texts.append(text)
        number, made = self._expressions.NamedExpression.newExprId(), self._expressions.AttributeReference
        name = f"deltic_text_{len(self._texts) - 1}"
        return made(name, expression.dataType(), True, self._no_metadata, number, self._to_seq([]))

    def _lambda(self, function: Any) -> str:
        names = ", ".join(map(self.called, _each(function.arguments())))
        return f"({names}) -> {self.written(function.function())}"

    def _call(self, call: Any) -> str:
        """Return a call as it was made: Spark writes its arguments with the names that they had."""
        name = str(call.prettyName())
        arguments = [*map(self.written, _each(call.parameters()))]
        return _FORMS.get(name, f"{name}({', '.join(['{}'] * len(arguments))})").format(*arguments)

    def _like(self, expression: Any, words: str) -> str:
        """Return a comparison with several patterns: Spark writes it without them."""
        value = expression.child()
        literals = (self._expressions.Literal.create(each, value.dataType()) for each in _each(expression.patterns()))
        return f"({self.written(value)} {words} ({', '.join(str(each.sql()) for each in literals)}))"

    def _numbered(self, expression: Any) -> Any:
        kind = _kind(expression)
        if kind in _LIKES:
            return self._text(self._like(expression, _LIKES[kind]), expression)
        if kind == "AttributeReference":
            return expression.withName(self.called(expression)).withQualifier(self._to_seq([]))
        if kind == "NamedLambdaVariable":
            return expression.toAttribute().withName(self.called(expression))
        if kind == "LambdaFunction":
            return self._text(self._lambda(expression), expression)
        if self._call_class.isInstance(expression):
            return self._text(self._call(expression), expression)
        if kind in ("PythonUDF", "ScalaUDF", "ScalaUDAF", "PythonUDAF"):
            name = f"function {expression.name()}" if kind.startswith("Python") else "function of Scala"
            raise self._errors.unknown_function(name)
        if kind in ("ScalarSubquery", "Exists", "ListQuery", "InSubquery"):
            raise self._errors.subquery()
        children = self._to_seq([*map(self._numbered, _each(expression.children()))])
        if kind == "CreateNamedStruct":  # Spark writes one that was made by `struct` without the names of its fields
            return self._expressions.CreateNamedStruct(children)
        return expression.withNewChildren(children)

    def named(self, expression: Any) -> str:
        """Return an expression of a list of columns, with its number as its name."""
        if _kind(expression) == "Alias":
            return f"{self.written(expression.child())} AS {self.called(expression)}"
        return self.called(expression)

    def project(self, plan: Any, below: Sequence[Any]) -> str:
        return self._projected(plan, self.query(below[0]))

    def _projected(self, plan: Any, inside: str) -> str:
        columns = dict.fromkeys(map(self.named, _each(plan.projectList())))
        return f"SELECT {', '.join(columns) or 1} FROM ({inside})"

    def filter(self, plan: Any, below: Sequence[Any]) -> str:
        condition = plan.condition()
        if _kind(condition) == "AtLeastNNonNulls":
            values = [*map(self._missing, _each(condition.children()))]
            written = f"{' + '.join(f'CASE WHEN {value} THEN 0 ELSE 1 END' for value in values)} >= {condition.n()}"
        else:
            written = self.written(condition)
        return f"SELECT * FROM ({self.query(below[0])}) WHERE {written}"

    def _missing(self, value: Any) -> str:
        """Return whether a value is NULL or NaN, for `dropna`."""
        written = self.written(value)
        is_float = value.dataType().typeName() in ("float", "double")
        return f"{written} IS NULL{f' OR isnan({written})' if is_float else ''}"

    def aggregate(self, plan: Any, below: Sequence[Any]) -> str | None:
        columns = ", ".join(map(self._aggregated, _each(plan.aggregateExpressions())))
        groups = ", ".join(map(self.written, _each(plan.groupingExpressions())))
        return f"SELECT {columns} FROM ({self.query(below[0])}){f' GROUP BY {groups}' if groups else ''}"

    def join(self, plan: Any, below: Sequence[Any]) -> str | None:
        kind, left, right = str(plan.joinType().toString()), *map(self.query, below)
        if kind not in _JOINS:
            raise self._errors.unsupported(f"a join of the kind {kind}")
        condition = f" ON {self.written(plan.condition().get())}" if plan.condition().isDefined() else ""
        kept = "l.*" if kind in ("LeftSemi", "LeftAnti") else "*"
        word = _JOINS[kind] if condition or kind not in ("Inner", "Cross") else "CROSS JOIN"
        return (
            f"SELECT {kept} FROM ({left}) AS l {word} ({right}) AS r{condition or ' ON TRUE' * (word != 'CROSS JOIN')}"
        )

    def together(self, plan: Any, below: Sequence[Any]) -> str:
        """Return the rows of several plans, by the places of their columns, under the numbers of the whole."""
        kind = _kind(plan)
        word = f"{kind.upper()}{' ALL' if kind == 'Union' or plan.isAll() else ''}"
        outer = [*map(self.called, _each(plan.output()))]
        parts = []
        for part in below:
            inner = [*map(self.called, _each(part.output()))]
            columns = ", ".join(f"{one} AS {other}" for one, other in zip(inner, outer, strict=True))
            parts.append(f"SELECT {columns} FROM ({self.query(part)})")
        return f" {word} ".join(parts)

    def _aggregated(self, expression: Any) -> str:
        """Return a column of an aggregation; for `pivot` an array of the values for each of those that become
        columns.
        """
        call = expression.child() if _kind(expression) == "Alias" else expression
        if _kind(call) != "AggregateExpression" or _kind(call.aggregateFunction()) != "PivotFirst":
            return self.named(expression)
        pivot = call.aggregateFunction()
        column, value = self.written(pivot.pivotColumn()), self.written(pivot.valueColumn())
        literals = (
            self._expressions.Literal.create(each, pivot.pivotColumn().dataType()).sql()
            for each in _each(pivot.pivotColumnValues())
        )
        parts = (f"max(CASE WHEN {column} <=> {literal} THEN {value} END)" for literal in literals)
        return f"array({', '.join(parts)}) AS {self.called(expression)}"

    def expand(self, plan: Any, below: Sequence[Any]) -> str:
        """Several rows of each, as rollup, cube, groupingSets and unpivot have them."""
        outer, inside = [*map(self.called, _each(plan.output()))], self.query(below[0])
        parts = []
        for projection in _each(plan.projections()):
            pairs = zip(map(self.written, _each(projection)), outer, strict=True)
            parts.append(f"SELECT {', '.join(f'{value} AS {name}' for value, name in pairs)} FROM ({inside})")
        return " UNION ALL ".join(parts)

    def distinct(self, plan: Any, below: Sequence[Any]) -> str | None:
        output = {*map(self.called, _each(plan.output()))}
        if _kind(plan) == "Deduplicate" and {*map(self.called, _each(plan.keys()))} != output:
            return None
        return f"SELECT DISTINCT * FROM ({self.query(below[0])})"

    def limit(self, plan: Any, below: Sequence[Any]) -> str:
        return self._limited(below[0], self.written(plan.limitExpr()))

    def _limited(self, plan: Any, limit: str) -> str:
        """Return the first rows in the order of a plan; columns that are computed after the order are computed of
        these.
        """
        kind, below = _kind(plan), [*_each(plan.children())]
        if kind == "LocalLimit":
            return self._limited(below[0], limit)
        if kind == "Project":
            return self._projected(plan, self._limited(below[0], limit))
        order = ", ".join(map(self.written, _each(plan.order()))) if kind == "Sort" else ""
        by = f" ORDER BY {order}" if order else ""
        return f"SELECT * FROM ({self.query(plan)}){by} LIMIT {limit}"

    def window(self, plan: Any, below: Sequence[Any]) -> str:
        columns = ", ".join(map(self.named, _each(plan.windowExpressions())))
        return f"SELECT *, {columns} FROM ({self.query(below[0])})"

    def generate(self, plan: Any, below: Sequence[Any]) -> str:
        columns = ", ".join(map(self.called, _each(plan.generatorOutput())))
        outer = " OUTER" if plan.outer() else ""
        made = self.written(plan.generator())
        return f"SELECT * FROM ({self.query(below[0])}) LATERAL VIEW{outer} {made} made AS {columns}"


_READERS: Mapping[str, Callable[[_PlanReader, Any, Sequence[Any]], str | None]] = {
    "Project": _PlanReader.project,
    "Filter": _PlanReader.filter,
    "Aggregate": _PlanReader.aggregate,
    "Join": _PlanReader.join,
    "Expand": _PlanReader.expand,
    "Union": _PlanReader.together,
    "Intersect": _PlanReader.together,
    "Except": _PlanReader.together,
    "Distinct": _PlanReader.distinct,
    "Deduplicate": _PlanReader.distinct,
    "GlobalLimit": _PlanReader.limit,
    "Window": _PlanReader.window,
    "Generate": _PlanReader.generate,
}


def _kind(node: Any) -> str:
    """Return the name of an operator or expression."""
    return str(node.getClass().getSimpleName())


def _each(sequence: Any) -> Iterator[Any]:
    """Yield the members of a sequence of Scala."""
    members = sequence.iterator()
    while members.hasNext():
        yield members.next()
