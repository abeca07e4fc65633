"""The SQL dialect: sqlglot's Spark dialect, with scalar functions kept as written.

sqlglot rewrites many functions of Spark for the sake of other dialects. Here each keeps its name and arguments;
aggregates, window functions and generators are parsed as sqlglot does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parser import Parser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from deltic.sql import function_syntax as syntax
from deltic.sql import pipes
from deltic.sql.remedies import REFUSED
from deltic.sql.scalars.functions.lookup import OF_THE_CLOCK, known

_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY"}
"""Functions with a syntax of their own."""

# A bracket behind ARRAY would be taken for a constructor's.
_SCALAR = {name.upper() for name in (*known(), *REFUSED, *OF_THE_CLOCK, "struct", "percentile")} - {"ARRAY"}


def of_values(values: exp.Values) -> exp.Select:
    """SELECT * of VALUES, whose ORDER BY and LIMIT are its own."""
    result = exp.select("*")
    for clause in ("order", "limit", "offset"):
        result.set(clause, values.args.pop(clause, None))
    return result.from_(values, copy=False)


_BITS = (
    (TokenType.PIPE, exp.BitwiseOr),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.AMP, exp.BitwiseAnd),
)
"""Signs of operations on bits, those that bind least first."""

BEHIND_A_NAME = {
    *(TokenType.FROM, TokenType.COMMA, TokenType.ALIAS, TokenType.R_PAREN, TokenType.PIPE_GT),
    *(TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE),
    *(TokenType.PLUS, TokenType.SLASH, TokenType.DPIPE),
}
"""What follows the name of a column and begins no expression."""


def _step(part: exp.JSONPathPart) -> str:
    """Return a step of a path as variant_get has it."""
    if isinstance(part, exp.JSONPathKey):
        return f".{part.this}" if str(part.this).isidentifier() else f"['{part.this}']"
    return f"[{part.this}]"


class DelticParser(SparkParser):
    """Spark's parser, which keeps scalar functions as names with arguments."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {
        **{n: build for n, build in SparkParser.FUNCTIONS.items() if n not in {*_SCALAR, "CHARINDEX"}},
        **{kind.sql_name(): partial(syntax.of_pairs, kind) for kind in (exp.Corr, exp.CovarPop, exp.CovarSamp)},
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        **{n: parse for n, parse in SparkParser.FUNCTION_PARSERS.items() if n not in _SCALAR - _SYNTAX},
        **{name: partial(syntax.windows, name=name) for name in syntax.WINDOWS},
        **{
            f"{name}_{part.upper()}": partial(syntax.part_of_window, name=name, part=part)
            for name in syntax.WINDOWS
            for part in ("start", "end")
        },
        "TABLE": syntax.relation,
        "POSITION": syntax.position,
    }
    SUBQUERY_TOKENS: ClassVar[set[TokenType]] = {*SparkParser.SUBQUERY_TOKENS, TokenType.VALUES}
    # `||` binds as much as + does.
    TERM: ClassVar[dict[TokenType, type[exp.Binary]]] = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}
    UNARY_PARSERS: ClassVar[dict[Any, Any]] = {**SparkParser.UNARY_PARSERS, TokenType.PLUS: syntax.plus}
    # Hive's TRANSFORM is a script, which a view cannot have; ours is a function.
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        **{name: parse for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "TRANSFORM"},
        "CURRENT_TIME": syntax.current_time,
    }

    TYPE_LITERAL_PARSERS: ClassVar[dict[Any, Any]] = {
        **SparkParser.TYPE_LITERAL_PARSERS,
        **dict.fromkeys(exp.DataType.TEMPORAL_TYPES, syntax.time_literal),
    }

    PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {**SparkParser.PRIMARY_PARSERS, TokenType.NULL: syntax.null}

    def _parse_csv(self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA) -> list[Any]:
        """Return a list, which no comma ends."""
        start = self._index
        result = super()._parse_csv(parse_method, sep)
        if sep is TokenType.COMMA and self._index > start and self._prev and self._prev.token_type is sep:
            self.raise_error("a comma behind the last of a list", self._prev)
        return result

    COLON_IS_VARIANT_EXTRACT: ClassVar[bool] = True

    def _build_json_extract(
        self, this: exp.Expr | None, path_parts: list[exp.JSONPathPart]
    ) -> tuple[exp.Expr | None, list[exp.JSONPathPart]]:
        """Parse the path behind a variant, `v:a[0].b`, as variant_get, which has the name of the last key."""
        root, *steps = path_parts
        if not steps:
            return this, path_parts
        given = [this, exp.Literal.string("$" + "".join(map(_step, steps)))]
        result = self.expression(exp.Anonymous(this="variant_get", expressions=given))
        result.meta["key"] = next(str(s.this) for s in reversed(steps) if isinstance(s, exp.JSONPathKey))
        return result, [root]

    PIPE_SYNTAX_TRANSFORM_PARSERS: ClassVar[dict[str, Any]] = dict(pipes.OPERATORS)
    SUPPORTS_TABLE_QUERY: ClassVar[bool] = True

    FUNC_TOKENS: ClassVar[set[TokenType]] = {*SparkParser.FUNC_TOKENS, TokenType.SESSION}

    def _parse_select(self, *args: Any, consume_pipe: bool = True, **options: Any) -> exp.Expr | None:
        """Parse a query; a pipe after that of LATERAL is the query's around, and VALUES may have one."""
        is_lateral = bool(self._prev) and self._prev.token_type is TokenType.LATERAL
        has_pipe = consume_pipe and not is_lateral
        result = super()._parse_select(*args, **{**options, "consume_pipe": has_pipe})
        if isinstance(result, exp.Values) and has_pipe and self._match(TokenType.PIPE_GT, advance=False):
            return self._parse_pipe_syntax_query(of_values(result))
        return result

    def _parse_select_query(self, *args: Any, **options: Any) -> exp.Expr | None:
        """Parse SELECT with a value at least; ALL is a column name where nothing that could be selected follows."""
        words = self._tokens[self._index : self._index + 3]
        is_all = [word.token_type for word in words[:2]] == [TokenType.SELECT, TokenType.ALL]
        if is_all and (not words[2:] or words[2].token_type in BEHIND_A_NAME):
            words[1].token_type = TokenType.VAR
        result = super()._parse_select_query(*args, **options)
        begins = [word.token_type for word in words[:2]]
        if begins in ([TokenType.SELECT, *behind] for behind in ([], [TokenType.FROM], [TokenType.R_PAREN])):
            self.raise_error("Expected an expression", words[:2][-1])
        return result

    def _parse_table_alias(self, *args: Any, **options: Any) -> exp.TableAlias | None:
        """Parse the alias of a relation and its columns; in WITH, MAX RECURSION LEVEL may follow."""
        alias = super()._parse_table_alias(*args, **options)
        if alias and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            alias.set("recursion_level", self._parse_number())
        return alias

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        """Parse a row of VALUES; an alias after the last row names the whole relation, not the value."""
        if not values or self._match(TokenType.L_PAREN, advance=False):
            return super()._parse_value(values)
        value = self._parse_disjunction()
        return self.expression(exp.Tuple(expressions=[value])) if value else None

    def _parse_comprehension(self, this: exp.Expr | None) -> None:
        """Parse no comprehension, `x FOR y IN xs`, which Spark lacks: FOR follows the aggregates of PIVOT."""
        self._retreat(self._index - 1)

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        """Parse an aggregate of PIVOT, or an expression of aggregates."""
        value = self._parse_disjunction() or super()._parse_pivot_aggregation()
        return value if self._match(TokenType.FOR, advance=False) else self._parse_alias(value)

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        """Parse VALUES; in parentheses it is a query that may continue after it."""
        if self._match_pair(TokenType.L_PAREN, TokenType.VALUES, advance=False):
            return None
        return super()._parse_derived_table_values(allow_value_synonym)

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        """Parse IN, also over the rows of VALUES."""
        result = super()._parse_in(this, alias)
        match result.expressions:
            case [exp.Values() as values]:
                return self.expression(exp.In(this=this, query=exp.select("*").from_(values).subquery(copy=False)))
        return result

    def _parse_types(
        self, check_func: bool = False, schema: bool = False, *args: Any, **options: Any
    ) -> exp.Expr | None:
        """Parse a type; where an expression may stand, a type and `(` are a call: trying both is exponential.

        CHAR(n) and VARCHAR(n) are STRING outside of column definitions. Hive's parser finds them by parsing both names
        again for each type.
        """
        words = self._tokens[self._index : self._index + 2] if check_func else []
        if [word.token_type for word in words[1:]] == [TokenType.L_PAREN] and words[0].token_type in self.TYPE_TOKENS:
            return None
        result = Parser._parse_types(self, check_func, schema, *args, **options)
        for type_ in result.find_all(exp.DataType) if result is not None and not schema else ():
            if type_.this in (exp.DType.CHAR, exp.DType.VARCHAR):
                type_.set("this", exp.DType.TEXT)
                type_.set("expressions", None)
        return result

    def _parse_type(self, *args: Any, **options: Any) -> exp.Expr | None:
        """Parse a type or a typed literal; `X 'FF'` with a blank is a binary literal as well."""
        words = self._tokens[self._index : self._index + 2]
        if [word.token_type for word in words] == [TokenType.VAR, TokenType.STRING] and words[0].text.upper() == "X":
            self._advance(2)
            return self.expression(exp.HexString(this=self._prev.text))
        return super()._parse_type(*args, **options)

    def _parse_join(self, *args: Any, **options: Any) -> exp.Join | None:
        """Parse a join; LEFT JOIN LATERAL of a generator without ON drops rows without elements, as in Spark."""
        start = self._index
        result = super()._parse_join(*args, **options)
        has_on = any(token.token_type is TokenType.ON for token in self._tokens[start : self._index])
        if result and isinstance(result.this, exp.Lateral) and isinstance(result.this.this, exp.Func) and not has_on:
            result.set("side", None)
        return result

    def _parse_unnest(self, *args: Any, **options: Any) -> exp.Unnest | None:
        """Parse UNNEST; its alias names the numbers of WITH ORDINALITY, too, which sqlglot puts elsewhere."""
        start = self._index
        result = super()._parse_unnest(*args, **options)
        name = result and result.args.get("offset")
        if result is not None and isinstance(name, exp.Identifier):
            if not any(token.token_type is TokenType.ORDINALITY for token in self._tokens[start : self._index]):
                self.raise_error("ORDINALITY", self._prev)
            result.args["alias"].append("columns", name)
            result.set("offset", True)
        return result

    def _parse_subquery(self, *args: Any, **options: Any) -> exp.Subquery | None:
        """Parse a query in parentheses; its alias may follow TABLESAMPLE."""
        result = super()._parse_subquery(*args, **options)
        if result is not None and result.args.get("sample") and not result.args.get("alias"):
            result.set("alias", self._parse_table_alias())
        return result

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        """Parse GROUP BY; `window(` is a function, not the clause WINDOW."""
        at = self._index + (not skip_group_by_token)
        words = self._tokens[at : at + 2]
        if [word.token_type for word in words] == [TokenType.WINDOW, TokenType.L_PAREN]:
            words[0].token_type = TokenType.VAR
        return super()._parse_group(skip_group_by_token)

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
        """Parse CUBE and ROLLUP over any expressions; sqlglot accepts no comparison."""
        kind = exp.Cube if self._match(TokenType.CUBE) else exp.Rollup if self._match(TokenType.ROLLUP) else None
        keys = [] if with_prefix or kind is None else self._parse_wrapped_csv(self._parse_disjunction)
        return None if kind is None else self.expression(kind(expressions=keys))

    def _parse_grouping_set(self) -> exp.Expr | None:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_bitwise(self) -> Any:
        """Parse bit operations with Spark's precedence: shifts, then `&`, `^` and `|`."""
        return self._parse_bits(_BITS)

    def _parse_bits(self, signs: Sequence[tuple[TokenType, type[exp.Binary]]]) -> Any:
        """Parse a chain of the first operator, whose operands use the later ones."""
        if not signs:
            return self._parse_shifts()
        (sign, kind), *others = signs
        result = self._parse_bits(others)
        while self._match(sign):
            result = self.expression(kind(this=result, expression=self._parse_bits(others)))
        return result

    def _parse_shifts(self) -> Any:
        result: Any = self._parse_term()
        while True:
            if self._match_pair(TokenType.LT, TokenType.LT):
                result = self.expression(exp.BitwiseLeftShift(this=result, expression=self._parse_term()))
            elif self._match_pair(TokenType.GT, TokenType.GT):
                is_unsigned = self._match(TokenType.GT)
                places = self._parse_term()
                shifted = self.expression(exp.BitwiseRightShift(this=result, expression=places))
                result = shifted
                if is_unsigned:
                    result = exp.Anonymous(this="shiftrightunsigned", expressions=[shifted.this, shifted.expression])
            else:
                return result

    def _parse_function_call(self, *args: Any, **options: Any) -> Any:
        """Parse a call; the function keeps its written name."""
        called = self._curr.text if self._curr else ""
        result = node = super()._parse_function_call(*args, **options)
        while isinstance(node, exp.Window | exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
            node = node.this
        if isinstance(node, exp.Func):
            node.meta["called"] = called.lower()
        return result

    def _parse_extract(self) -> exp.Extract | exp.Anonymous:
        """Parse EXTRACT, whose field keeps its letters in names of columns."""
        field = self._curr.text if self._curr else ""
        result = super()._parse_extract()
        result.meta["field"] = field
        return result

    def _parse_interval(self, *args: Any, **options: Any) -> exp.Add | exp.Interval | None:
        """Parse an interval; one of several units is a sum that is written as one constant.

        A text with its units, which sqlglot takes apart, is kept.
        """
        result = super()._parse_interval(*args, **options)
        if isinstance(result, exp.Interval) and self._prev.token_type is TokenType.STRING:
            result.update_positions(self._prev).meta["text"] = self._prev.text
        if isinstance(result, exp.Add):
            result.meta["constant"] = True
        return result

    def _parse_respect_or_ignore_nulls(self, this: exp.Expr | None) -> exp.Expr | None:
        """Parse IGNORE or RESPECT NULLS after a call; what is written so has another name than a second argument."""
        result = super()._parse_respect_or_ignore_nulls(this)
        if result is not None and result is not this:
            result.meta["written"] = True
        return result

    def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
        """Build a cast; some texts stand for times."""
        kwargs["this"] = syntax.special_time(kwargs["this"], kwargs["to"])
        return super().build_cast(strict, **kwargs)

    def _parse_pipe_syntax_join(self, query: exp.Query) -> exp.Query | None:
        return pipes.joined(self, query)

    def _parse_pipe_syntax_set_operator(self, query: exp.Query) -> exp.Query | None:
        return pipes.combined(self, query)


def taken() -> set[str]:
    """Return the lower-case names of SQL functions, which Python functions cannot have."""
    return {
        name.lower()
        for name in (*_SCALAR, *SparkParser.FUNCTIONS, *DelticParser.FUNCTION_PARSERS, "window", "session_window")
    }


class Deltic(Spark):
    """Spark's dialect with Deltic's parser."""

    Parser = DelticParser
