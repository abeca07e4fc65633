"""Old and rare forms that Soufflé reads mean what their new forms mean. Catches what is read as another thing."""

from __future__ import annotations

import deltic
from deltic.datalog import check, parse

OLD = """
@[purpose = "annotations say nothing [here]" {x [y]}]
.number_type Age
.symbol_type Name
.type Town
.decl lives(who: Name, where: Town, age: Age) input
.decl adult(@[key] who: Name) output printsize btree
@[rule]
adult(n) :- lives(n, _, a), lives(n, _, b), a >= 18, b <= 99. .plan 0:(2,1), 1:(1,2)
.decl none(x: number) inline
.decl local(x: number)
local(127.0.0.1) :- !none(0).
local(x) :- none(x).
"""
NEW = """
.type Age <: number
.type Name <: symbol
.type Town <: symbol
.decl lives(who: Name, where: Town, age: Age)
.input lives
.decl adult(who: Name) btree
.output adult
.printsize adult
adult(n) :- lives(n, _, a), lives(n, _, b), a >= 18, b <= 99.
.decl local(x: number)
local(2130706433).
"""


RARE = """
@ [deep([[[("]")]]])] @![d]
.decl t(x: symbol)\v
t("\\a\\b\\f\\v"). t(cat("a")). t(cat("b", "c", "d")).
.decl s(x: number) magic
.input s
.pragma "libraries" "functors"
.pragma "provenance" "explain"
.type A = number.comp C{.decl r(x: A)}.init c = C.decl input(x: A) brie
input(1). input(2).
.decl output(x: A)
output(x) :- input(x), !c.r(x).
c.r(1).
"""


def test_rare_forms_are_read():
    pipeline = deltic.Pipeline()
    pipeline.datalog(RARE)
    assert sorted(pipeline["t"]) == [("\a\b\f\v",), ("a",), ("bcd",)]
    assert list(pipeline["output"]) == [(2,)]


def test_old_forms_mean_what_new_ones_do():
    old, new = check([parse(OLD)]), check([parse(NEW)])
    assert [(d.kind, d.relation) for d in old.directives] == [(d.kind, d.relation) for d in new.directives]
    assert {n: (r.schema, r.is_table) for n, r in old.relations.items()} == {
        n: (r.schema, r.is_table) for n, r in new.relations.items()
    }
    found = []
    for text in (OLD, NEW):
        pipeline = deltic.Pipeline()
        pipeline.datalog(text)
        with pipeline.transaction() as change:
            change.insert("lives", [("ada", "Rome", 36), ("bob", "Oslo", 7)])
        found.append((list(pipeline["adult"]), list(pipeline["local"])))
    assert found[0] == found[1] == ([("ada",)], [(2130706433,)])
