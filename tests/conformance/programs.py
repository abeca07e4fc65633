"""The programs that the conformance tests run."""

FOLLOWS = """
    .decl follows(who: symbol, whom: symbol)
    .input follows
    .decl blocked(who: symbol)
    .input blocked
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y), !blocked(x).
    reaches(x, z) :- reaches(x, y), reaches(y, z).
    .decl lonely(who: symbol)
    lonely(x) :- follows(x, _), !follows(_, x).
"""
BOTH = """
    .decl p(x: number, y: number)
    .input p
    p(1, 2).
    p(x, z) :- p(x, y), p(y, z).
"""
NULLARY = """
    .decl on()
    .input on
    .decl lamp(name: symbol)
    .input lamp
    .decl always()
    always().
    .decl shines(name: symbol)
    shines(n) :- lamp(n), on().
    .decl dark()
    dark() :- lamp(_), !on().
    .decl some()
    some() :- lamp(_).
"""
TYPES = """
    .decl t(n: number, u: unsigned, f: float, s: symbol)
    .input t
    .decl copy(s: symbol, f: float, u: unsigned, n: number)
    copy(s, f, u, n) :- t(n, u, f, s).
"""
CLOSURE = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""
