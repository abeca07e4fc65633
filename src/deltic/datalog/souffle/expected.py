"""Descriptions of the tokens that a parser expects."""

from __future__ import annotations

from collections.abc import Iterable

_OPERATORS = frozenset(
    (
        *("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET"),
        *("LOR", "LXOR", "LAND", "BOR", "BXOR", "BAND", "BSHL", "BSHR", "BSHRU"),
    )
)
_VALUES = frozenset(
    (
        *("NUMBER", "UNSIGNED", "FLOAT", "STRING", "IDENT", "UNDERSCORE", "ADDRESS", "NIL", "DOLLAR", "AUTOINC"),
        *("LPAR", "LSQB", "MINUS", "BNOT", "LNOT", "AS", "AT", "FUNCTOR"),
        *("MIN", "MAX", "SUM", "MEAN", "COUNT", "USER_AGGREGATE"),
    )
)
_CONDITIONS = _VALUES | {"BANG", "TEST", "TRUE", "FALSE", "QUALIFIED", "QUANTIFIER"}

# Sets of terminals with a common description, which applies if all terminals of the first column are expected.
_GROUPS = (
    ({"DIRECTIVE", "IDENT"}, None, "a declaration, a directive, a fact or a rule"),
    ({"BANG", "NUMBER"}, _CONDITIONS, "an atom or another condition"),
    ({"NUMBER", "STRING", "LPAR"}, _VALUES, "a value"),
    ({"NUMBER", "STRING", "TRUE"}, {"NUMBER", "STRING", "TRUE", "FALSE", "FLOAT", "IDENT"}, "a word, string or number"),
    ({"PLUS", "STAR"}, _OPERATORS, "an operator"),
)
# The other terminals, in the order of the description. Rarely meant ones are left out.
_WORDS = {
    "DOT": "`.`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "COLON": "`:`",
    "IF": "`:-`",
    "EQUAL": "`=`",
    "SUBTYPE": "`<:`",
    "VBAR": "`|`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "MORETHAN": "`>`",
    "IDENT": "a name",
    "STRING": "a string",
    "NUMBER": "a number",
    "COMPARISON": "a comparison",
    "$END": "the end of the program",
}


def describe(terminals: Iterable[str]) -> str:
    """The terminals (by their names in the grammar) as an enumeration: "`)` or `,`"."""
    rest, phrases = set(terminals), []
    for test, group, phrase in _GROUPS:
        if rest >= test:
            rest -= rest if group is None else group
            phrases.append(phrase)
    words = [word for name in _WORDS if name in rest and (word := _WORDS[name])] + phrases
    if len(words) < 2:
        return words[0] if words else "something else"
    return ", ".join(words[:-1]) + " or " + words[-1]
