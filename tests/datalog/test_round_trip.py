"""Printed trees parse to equal trees. Catches: precedence, parentheses, escapes and numbers that change on the way.

Mutilated programs are refused with findings. Catches: errors of the parser itself that reach the user.
"""

from hypothesis import example, given
from hypothesis import strategies as st

from deltic.datalog import parse
from deltic.datalog.syntax.formulas import BodyAtom, Implication, Negation, Truth
from deltic.datalog.syntax.program import ParsedProgram, Subsumption
from deltic.errors import ProgramError
from tests.datalog.printer import print_expression, print_program
from tests.datalog.trees import NOWHERE, programs

FILLERS = ["", ".", ",", "(", ")", '"', "/*", "!", "x", "1", ":-", "{", "}", "$", "min", "count", ".decl", "\n", "["]
FILLERS += ["#", "\n#if", "\n#define p", "#define p(x", ".include", ".comp C {", ".init c = C<", ".override"]

_NOTHING = BodyAtom("?", (), span=NOWHERE)
_NEITHER = Negation(Negation(Truth(False, span=NOWHERE), span=NOWHERE), span=NOWHERE)
_BARE_ARROW = Subsumption(
    _NOTHING, _NOTHING, Implication(_NOTHING, _NEITHER, span=NOWHERE), span=NOWHERE
)  # its body without parentheses is no body of the grammar


@given(programs)
@example(ParsedProgram((_BARE_ARROW,), NOWHERE.source))
def test_print_then_parse(program):
    text = print_program(program)
    assert parse(text) == program
    assert print_program(parse(text)) == text


def _expression(text):
    (clause,) = parse(f"p({text}).").items
    return clause.heads[0].arguments[0]


def test_no_more_parentheses_than_needed():
    for text in ["a + b * c", "(a + b) * c", "-a ^ 2", "(-a) ^ -b", "a ^ b ^ c", "(a ^ b) ^ c", "a - (b - c)"]:
        assert print_expression(_expression(text)) == text


@given(programs, st.data())
def test_mutilated_programs_are_refused_with_findings(program, data):
    text = print_program(program)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 4)))
    filler = data.draw(st.sampled_from(FILLERS))
    try:
        parse(text[:begin] + filler + text[end:])
    except ProgramError as error:
        places = [(finding.line, finding.column) for finding in error.diagnostics]
    else:
        places = [(1, 1)]
    assert places
    assert all(line and column for line, column in places)
